// Sizes that several kernels share and no model decides.
#pragma once

constexpr int MMA_TILE = 16;      // rows and columns of the tiles that one mma.sync multiplies
constexpr int MOST_SPLITS = 256;  // parts of a context, at most
constexpr int EXPAND_ROWS = 128;  // rows of contexts that a block expands
constexpr int RADIX_BINS = 256;   // values of the 8 bits that a pass of a radix selection looks at
