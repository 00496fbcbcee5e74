"""Times the libraries that kernels are set beside: cuBLAS, cuDNN and FlashAttention-2, as PyTorch calls them.

    python3 tests/device/peers.py WORKS.json RESULTS.json

WORKS.json is {"works": [...]}; each work has a `name` and a `kind`:

    product    y = x W^T in bf16 by cuBLAS: rows, out, in
    attention  library (cuDNN or FlashAttention-2), phase (prefill or decode), sequences, context, heads, kv_heads, head_dim; a prefill is causal

RESULTS.json is {"device", "versions", "results"}: of each work its `us`, `tb_s`, `tflop_s`, the form of the call that was fastest, and how far
its output is off the same in f32; or `error`, where the library refuses it or is wrong. An output is checked before it is timed. A time is the
median of replays of a CUDA graph of launches, whose buffers rotate through more memory than the caches hold; all numbers are random, since
multipliers draw less power for zeros.
"""

import contextlib
import json
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

ROTATED_BYTES = 256e6
MILLISECONDS = 20.0
REPEATS = 5
LARGEST_ERROR = 0.02
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def copies(bytes_moved):
    """How many sets of buffers are more than the caches hold."""
    return int(min(24, max(1, -(-ROTATED_BYTES // bytes_moved))))


def median_us(launches):
    """Microseconds of a launch, where each of `launches` has buffers of its own."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for launch in launches:
            launch()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for launch in launches:
        launch()
    end.record()
    end.synchronize()
    rounds = max(1, int(MILLISECONDS / max(start.elapsed_time(end), 1e-3)))
    rounds_of_graph = min(rounds, 16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds_of_graph):
            for launch in launches:
                launch()
    replays = rounds // rounds_of_graph
    graph.replay()
    times = []
    for _ in range(REPEATS):
        start.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / (replays * rounds_of_graph * len(launches)))
    return sorted(times)[REPEATS // 2]


def relative(got, wanted):
    error = ((got.float() - wanted).norm() / wanted.norm()).item()
    if not error <= LARGEST_ERROR:
        raise RuntimeError(f"its output is {error:.3g} off")
    return error


class Product:
    forms = ["x W^T"]

    def __init__(self, work):
        self.rows, self.out, self.inputs = work["rows"], work["out"], work["in"]
        self.bytes = 2 * (self.out * self.inputs + self.rows * (self.inputs + self.out))
        self.flops = 2 * self.rows * self.out * self.inputs

    def launches(self, _):
        """A launch per set of buffers, and how far off the first is."""

        def one():
            return random(self.rows, self.inputs), random(self.out, self.inputs), random(self.rows, self.out)

        sets = [one() for _ in range(copies(self.bytes))]
        launches = [lambda x=x, w=w, y=y: torch.matmul(x, w.T, out=y) for x, w, y in sets]
        launches[0]()
        x, w, y = sets[0]
        return launches, relative(y[:64, :512], x[:64].float() @ w[:512].float().T)


class Attention:
    def __init__(self, work):
        self.backend = BACKENDS[work["library"]]
        self.is_prefill = work["phase"] == "prefill"
        self.sequences, self.context, self.head_dim = work["sequences"], work["context"], work["head_dim"]
        self.heads, self.kv_heads = work["heads"], work["kv_heads"]
        self.group = self.heads // self.kv_heads
        self.tokens = self.context if self.is_prefill else 1
        self.bytes = 4 * self.sequences * self.head_dim * (self.context * self.kv_heads + self.tokens * self.heads)
        pairs = self.context * (self.context + 1) // 2 if self.is_prefill else self.context
        self.flops = 4 * self.sequences * pairs * self.heads * self.head_dim
        # Token-major is how projections write heads. With one token, the heads that share keys are as good as rows of one.
        ways = [""] if self.is_prefill else ["", ", heads as rows"]
        self.forms = [layout + way for layout in ["head-major", "token-major"] for way in ways]

    def launches(self, form):
        """As of a product."""

        def one(rows, heads):
            if form.startswith("token-major"):
                return random(self.sequences, rows, heads, self.head_dim).transpose(1, 2)
            return random(self.sequences, heads, rows, self.head_dim)

        def call(q, k, v):
            if form.endswith("heads as rows"):
                rows = q.reshape(self.sequences, self.kv_heads, self.group, self.head_dim)
                return scaled_dot_product_attention(rows, k, v).reshape(q.shape)
            return scaled_dot_product_attention(q, k, v, is_causal=self.is_prefill, enable_gqa=self.group > 1)

        shapes = [(self.tokens, self.heads), (self.context, self.kv_heads), (self.context, self.kv_heads)]
        sets = [[one(*shape) for shape in shapes] for _ in range(copies(self.bytes))]
        launches = [lambda of=of: call(*of) for of in sets]
        out = launches[0]()
        error = max(self.error(out, sets[0], head) for head in [0, self.heads - 1])
        return launches, error

    def error(self, out, of, head):
        """Of the last tokens of the last sequence."""
        q, k, v = of
        first = max(0, self.tokens - 16)
        keys, values = k[-1, head // self.group].float(), v[-1, head // self.group].float()
        scores = q[-1, head, first:].float() @ keys.T / self.head_dim**0.5
        if self.is_prefill:
            at = torch.arange(first, self.tokens, device="cuda")
            scores.masked_fill_(torch.arange(self.context, device="cuda")[None] > at[:, None], float("-inf"))
        return relative(out[-1, head, first:], scores.softmax(-1) @ values)


KINDS = {"product": Product, "attention": Attention}


def measured(entry):
    """The fastest form of a work that the library takes."""
    work = KINDS[entry["kind"]](entry)
    best, refusals = None, []
    for form in work.forms:
        only = sdpa_kernel([work.backend]) if isinstance(work, Attention) else contextlib.nullcontext()
        try:
            with only, torch.no_grad():
                launches, error = work.launches(form)
                us = median_us(launches)
        except RuntimeError as refusal:
            refusals.append(f"{form}: {str(refusal).splitlines()[0]}")
            continue
        finally:
            launches = None
            torch.cuda.empty_cache()
        if best is None or us < best["us"]:
            best = {"us": us, "tb_s": work.bytes / us / 1e6, "tflop_s": work.flops / us / 1e6, "form": form, "error_of_output": error}
    return {"name": entry["name"], **(best or {"error": "; ".join(refusals)})}


def main():
    with open(sys.argv[1]) as f:
        works = json.load(f)["works"]
    torch.manual_seed(1)
    results = []
    for work in works:
        result = measured(work)
        results.append(result)
        what = result.get("error") or f"{result['us']:9.2f} us {result['tb_s']:6.2f} TB/s {result['tflop_s']:7.1f} TFLOP/s, {result['form']}"
        print(f"{work['name']:<56} {what}", flush=True)
    cudnn = torch.backends.cudnn.version()
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": f"{cudnn // 10000}.{cudnn // 100 % 100}.{cudnn % 100}"}
    with open(sys.argv[2], "w") as f:
        json.dump({"device": torch.cuda.get_device_name(), "versions": versions, "results": results}, f, indent=1)


if __name__ == "__main__":
    main()
