//! What the cache of an attention may be.

use crate::check::{distinct, size};
use crate::diagnostic::{Diagnostic, Diagnostics, Id};
use crate::model::{KvCache, KvEdges};
use crate::source::Spanned;
use crate::spec::{KvCacheLayers, KvDtype, MixerSpec, ModelSpec};

/// Checks the cache of a mixer that `layers` layers use.
pub(super) fn check(
    list: &Spanned<Vec<Spanned<KvDtype>>>,
    edges: Option<&Spanned<KvCacheLayers>>,
    layers: usize,
    diags: &mut Diagnostics,
) -> Option<KvCache> {
    distinct(&list.value, |d| d.as_str(), "cache dtype", diags);
    if list.value.is_empty() {
        diags.push(
            Diagnostic::new(Id::KvDtypeMissing, "the KV cache has no dtype")
                .label(&list.span, "an empty list")
                .note("no dtype is assumed: a caller's default once made every layer fp8")
                .help("list what this cache may be, the default first, such as [\"bf16\", \"f32\"]"),
        );
        return None;
    }
    let edges = match edges {
        None => None,
        Some(given) => {
            let (first, last) = (size(&given.first), size(&given.last));
            if first + last > layers {
                diags.push(
                    Diagnostic::new(Id::ValueOutOfRange, "`kv_cache_layers` covers more layers than there are")
                        .label(&given.span, format!("{first} + {last} = {} layers", first + last))
                        .context(&list.key, format!("{layers} layers use this mixer"))
                        .help(format!("`first` and `last` can be {layers} in sum at most")),
                );
                return None;
            }
            Some(KvEdges { first, last, dtype: given.dtype.value })
        }
    };
    Some(KvCache { dtypes: list.value.iter().map(|d| d.value).collect(), edges })
}

/// One dtype is chosen for all caches, so the mixers that have one must share one.
pub fn shared_dtype(spec: &ModelSpec, diags: &mut Diagnostics) {
    let lists = spec.mixers.iter().filter_map(|(_, mixer)| match mixer {
        MixerSpec::Gqa(gqa) => Some(&gqa.kv_cache_dtype),
        MixerSpec::Mla(mla) => Some(&mla.kv_cache_dtype),
        MixerSpec::Mamba2(_) | MixerSpec::GatedDeltaNet(_) => None,
    });
    let lists: Vec<_> = lists.collect();
    let Some((first, rest)) = lists.split_first() else { return };
    let in_all = |dtype: &Spanned<KvDtype>| rest.iter().all(|list| list.iter().any(|d| d.value == dtype.value));
    if let Some(other) = rest.first()
        && !first.iter().any(in_all)
    {
        diags.push(
            Diagnostic::new(Id::KvDtypeUnsupported, "no cache dtype is legal for every mixer")
                .label(&other.span, "nothing here is in all the other lists")
                .context(&first.span, "one of the others")
                .note("one dtype is chosen at load for all caches; `kv_cache_layers` fixes that of layers at the edges")
                .help("let the lists share a dtype"),
        );
    }
}
