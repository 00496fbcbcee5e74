//! What is told before anything is compiled; what grammars accept is tested where they are compiled, with the engine.
