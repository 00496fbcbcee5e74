//! Per-layer cache dtypes for 29 of 30 layers.

use tenon_core::dtype::KvDtypeName;
use tenon_core::model::KvLayer;

const NUM_HIDDEN_LAYERS: usize = 30;
const KV_CACHE_LAYERS: [KvLayer; NUM_HIDDEN_LAYERS] = [KvLayer::Fixed(KvDtypeName::Bf16); 29];

fn main() {
    let _ = KV_CACHE_LAYERS;
}
