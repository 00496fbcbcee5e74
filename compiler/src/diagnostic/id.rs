//! The ids of all diagnostics, and the page of each.

use std::fmt;
use std::str::FromStr;

use super::did_you_mean;

macro_rules! ids {
    ($($variant:ident = $name:literal, $summary:literal;)*) => {
        /// Names a kind of error for good: it stands in messages, in tests and in `tenon explain`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Id {
            $(#[doc = $summary] $variant,)*
        }

        impl Id {
            /// Every id.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The spelling in messages.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// One line for a list of ids.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)* }
            }

            /// The page that `tenon explain` prints (Markdown): what happened in the field, why it is an error, how to fix it,
            /// an example.
            pub const fn page(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!("pages/", $name, ".md")),)* }
            }
        }
    };
}

ids! {
    TomlSyntax = "toml-syntax", "The file is not TOML.";
    UnknownKey = "unknown-key", "A key or table that nothing reads.";
    MissingKey = "missing-key", "A key or table that must be given.";
    WrongType = "wrong-type", "A value of another TOML type than the key takes.";
    UnknownValue = "unknown-value", "A name that is not among those that the key takes.";
    ValueOutOfRange = "value-out-of-range", "A value that the key cannot take.";
    TodoValue = "todo-value", "A value that is still to be filled in.";
    DuplicateValue = "duplicate-value", "The same value or name twice.";
    NameMismatch = "name-mismatch", "A name that differs from that of its folder.";
    UnknownReference = "unknown-reference", "A name that refers to nothing.";
    UnusedDefinition = "unused-definition", "A block, mixer, feed-forward or number that nothing uses.";
    LayerPattern = "layer-pattern", "A pattern that does not cover the layers.";
    EmptyBlock = "empty-block", "A block with neither mixer nor feed-forward.";
    HeadGroup = "head-group", "Heads that do not divide evenly over those that they share.";
    RotaryDim = "rotary-dim", "A rotary width that is odd, or not within a head.";
    RopeScalingUnstated = "rope-scaling-unstated", "Rope keys or a scale that the rope_type lacks or does not have.";
    ExpressionSyntax = "expression-syntax", "An expression that cannot be read.";
    UnknownDim = "unknown-dim", "An expression over a name that is no dimension here.";
    SoftmaxScale = "softmax-scale", "A softmax scale that this kind of attention cannot have.";
    SoftmaxScaleAbsorbed = "softmax-scale-absorbed", "A softmax scale of latent attention that is taken over the latent.";
    KvDtypeMissing = "kv-dtype-missing", "A cache without an element type.";
    KvDtypeUnsupported = "kv-dtype-unsupported", "An element type that the cache cannot have.";
    WeightFormatUnsupported = "weight-format-unsupported", "A storage format that cannot be read.";
    ArchitectureMismatch = "architecture-mismatch", "A statement that contradicts what every checkpoint of the model_type has.";
    KernelGap = "kernel-gap", "No kernel fits an op of the model.";
    KernelOverlap = "kernel-overlap", "Two kernels fit an op, and nothing says which is meant.";
    KernelParam = "kernel-param", "A kernel parameter that the template lacks, or a value that it does not allow.";
    KernelUnused = "kernel-unused", "An entry of KERNEL.toml that no layer uses.";
    HeadDimMismatch = "head-dim-mismatch", "A kernel that KERNEL.toml chooses for another head width than the model's.";
    LaunchGridLimit = "launch-grid-limit", "A launch with more blocks than the target has, or with none.";
    LaunchMismatch = "launch-mismatch", "A kernel whose parameters are not the arguments that its TEMPLATE.toml lists.";
    LaunchBlock = "launch-block", "A block with more threads than the target has, or with warps that are not full.";
    SharedMemoryLimit = "shared-memory-limit", "A kernel that needs more shared memory than a block has.";
    IndexWidth = "index-width", "An element that its index does not reach at the largest step.";
    DimLiteral = "dim-literal", "An array of a kernel whose size is a number and no param.";
    TargetNotEmitted = "target-not-emitted", "A target that this version can check and cannot emit.";
    TemplateInvalid = "template-invalid", "A TEMPLATE.toml that contradicts itself.";
    ConfigIgnoreBound = "config-ignore-bound", "A key of config.json that is ignored although the spec binds it.";
    DeviationRefused = "deviation-refused", "A deviation of a key in which a spec cannot depart from its checkpoint.";
    CheckpointMismatch = "checkpoint-mismatch", "A checkpoint that is not the model of the spec.";
    ConfigKeyUnbound = "config-key-unbound", "A key of config.json that nothing accounts for.";
    ToolFormatConflict = "tool-format-conflict", "A chat template and the parsers of the spec that do not agree.";
    TemplateUnsupported = "template-unsupported", "A chat template that cannot render what it is needed for.";
    MemoryDoesNotFit = "memory-does-not-fit", "A deployment that needs more memory than there is.";
    OverrideRefused = "override-refused", "A flag that says something else than the spec.";
    GeneratedStale = "generated-stale", "Generated files that differ from what the specs give.";
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Id {
    type Err = UnknownId;

    fn from_str(text: &str) -> Result<Self, UnknownId> {
        Self::ALL.iter().copied().find(|id| id.as_str() == text).ok_or_else(|| UnknownId(text.to_owned()))
    }
}

/// No diagnostic has this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownId(String);

impl fmt::Display for UnknownId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no diagnostic has the id `{}`", self.0)?;
        match did_you_mean(&self.0, Id::ALL.iter().map(|id| id.as_str())) {
            Some(question) => write!(f, "; {question}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_kebab_case_and_read_back() {
        for (i, id) in Id::ALL.iter().enumerate() {
            assert!(id.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{id}");
            assert_eq!(id.as_str().parse(), Ok(*id));
            assert!(!Id::ALL[..i].iter().any(|other| other.as_str() == id.as_str()), "{id} twice");
        }
        let unknown = "kernel-gpa".parse::<Id>().unwrap_err();
        assert_eq!(unknown.to_string(), "no diagnostic has the id `kernel-gpa`; did you mean `kernel-gap`?");
    }

    #[test]
    fn every_page_has_its_title_and_the_four_parts_in_order() {
        for id in Id::ALL {
            let page = id.page();
            assert!(page.starts_with(&format!("# {id}\n")), "{id}: the title");
            let headings: Vec<_> = page.lines().filter(|l| l.starts_with("## ")).collect();
            let expected = ["## What happened in the field", "## Why it is an error", "## How to fix it", "## Example"];
            assert_eq!(headings, expected, "{id}");
            let parts: Vec<_> = page.split("\n## ").skip(1).collect();
            for part in parts {
                let (heading, body) = part.split_once('\n').unwrap_or_default();
                assert!(body.trim().len() > 40, "{id}: `{heading}` says nothing");
            }
            assert!(
                page.split("## Example").nth(1).is_some_and(|e| e.matches("```").count() >= 2),
                "{id}: an example in a fence"
            );
        }
    }

    #[test]
    fn no_page_is_an_orphan() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/diagnostic/pages");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.strip_suffix(".md").is_some_and(|stem| stem.parse::<Id>().is_ok()), "{name} belongs to no id");
        }
    }
}
