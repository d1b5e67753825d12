"""The published laws and measurements behind the estimator, by key.

A component of an estimate names its sources by these keys, and the page prints them. Titles are as published; papers
are pinned to a version; ``note`` is the place inside the source, never a sentence.
"""

from collections.abc import Mapping
from types import MappingProxyType

from calc.provenance import Provenance

_READ = "2026-12-01"


def _paper(identifier: str, title: str, note: str = "") -> Provenance:
    """An arXiv paper; ``identifier`` carries the version (``2205.05198v1``)."""
    return Provenance(title=title, url=f"https://arxiv.org/abs/{identifier}", retrieved=_READ, note=note)


def _page(url: str, title: str, note: str = "") -> Provenance:
    return Provenance(title=title, url=url, retrieved=_READ, note=note)


def _file(repository: str, revision: str, path: str, title: str, note: str = "") -> Provenance:
    """A file of a public repository at a tag or commit."""
    return _page(f"https://github.com/{repository}/blob/{revision}/{path}", title, note)


_TRAINING = {
    "zero-2019": _paper("1910.02054v3", "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", "§3.1"),
    "mixed-precision-2017": _paper("1710.03740v3", "Mixed Precision Training", "§3.1"),
    "megatron-2019": _paper(
        "1909.08053v4",
        "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism",
        "§3",
    ),
    "adam-2014": _paper("1412.6980v9", "Adam: A Method for Stochastic Optimization", "§2"),
    "adamw-2017": _paper("1711.05101v3", "Decoupled Weight Decay Regularization", "§2"),
    "adam-8bit-2021": _paper("2110.02861v2", "8-bit Optimizers via Block-wise Quantization", "§2"),
    "adafactor-2018": _paper("1804.04235v1", "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", "§3"),
    "lion-2023": _paper("2302.06675v4", "Symbolic Discovery of Optimization Algorithms", "§3"),
    "sgd-momentum": _page(
        "https://docs.pytorch.org/docs/2.9/generated/torch.optim.SGD.html", "torch.optim.SGD", "momentum_buffer"
    ),
    "lora-2021": _paper("2106.09685v2", "LoRA: Low-Rank Adaptation of Large Language Models", "§4.1"),
    "qlora-2023": _paper("2305.14314v1", "QLoRA: Efficient Finetuning of Quantized LLMs", "§3"),
    "large-batch-2017": _paper("1706.02677v2", "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", "§2"),
    "gradient-accumulation": _page(
        "https://huggingface.co/docs/accelerate/v1.9.0/usage_guides/gradient_accumulation",
        "Performing gradient accumulation with Accelerate",
    ),
    "liger-2024": _paper("2410.10989v3", "Liger Kernel: Efficient Triton Kernels for LLM Training", "§3.2"),
    "torch-foreach": _page(
        "https://docs.pytorch.org/docs/2.9/generated/torch.optim.AdamW.html", "torch.optim.AdamW", "foreach, fused"
    ),
    "torchtitan-sac": _page(
        "https://pytorch.org/blog/activation-checkpointing-techniques/",
        "Current and New Activation Checkpointing Techniques in PyTorch",
        "Selective Activation Checkpoint",
    ),
    "torchtitan-loss": _file(
        "pytorch/torchtitan",
        "00a388d9733c8325b3b872c2159831e8fb616507",
        "torchtitan/components/loss.py",
        "torchtitan: torchtitan/components/loss.py",
        "cross_entropy_loss, _maybe_compile",
    ),
    "fsdp-qlora-2024": _page(
        "https://www.answer.ai/posts/2024-03-14-fsdp-qlora-deep-dive.html", "Enabling 70B Finetuning on Consumer GPUs"
    ),
    "torch-amp": _page("https://docs.pytorch.org/docs/2.9/amp.html", "Automatic Mixed Precision", "torch.autocast"),
    "dora-2024": _paper("2402.09353v6", "DoRA: Weight-Decomposed Low-Rank Adaptation", "§4"),
    "galore-2024": _paper(
        "2403.03507v2", "GaLore: Memory-Efficient LLM Training by Gradient Low-Rank Projection", "§4"
    ),
    "muon-2024": _page("https://kellerjordan.github.io/posts/muon/", "Muon: An optimizer for hidden layers"),
    "fsdp-2023": _paper(
        "2304.11277v2", "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", "§3.2, §3.3"
    ),
    "fsdp-frozen": _file(
        "pytorch/pytorch",
        "3ade90a6aaa939cd6238e314c321b9f920db1471",
        "torch/distributed/fsdp/_runtime_utils.py",
        "PyTorch: torch/distributed/fsdp/_runtime_utils.py",
        "_register_post_backward_reshard_only_hook",
    ),
    "pipeline-2021": _paper(
        "2104.04473v5", "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", "§2.2"
    ),
    "torch-ddp": _page(
        "https://docs.pytorch.org/docs/2.9/notes/ddp.html", "Distributed Data Parallel", "gradient_as_bucket_view"
    ),
    "ring-attention-2023": _paper(
        "2310.01889v4", "Ring Attention with Blockwise Transformers for Near-Infinite Context"
    ),
    "peft-kbit": _file(
        "huggingface/peft",
        "b28a09c44695163806dc2d560ec2faa1ce2949c5",
        "src/peft/utils/other.py",
        "PEFT: utils/other.py",
        "prepare_model_for_kbit_training",
    ),
    "gpipe-2018": _paper(
        "1811.06965v5", "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", "§2"
    ),
}

_ACTIVATIONS = {
    "korthikanti-2022": _paper(
        "2205.05198v1", "Reducing Activation Recomputation in Large Transformer Models", "§4.1, eq. 1; §5"
    ),
    "checkpointing-2016": _paper("1604.06174v2", "Training Deep Nets with Sublinear Memory Cost", "§4"),
    "flash-attention-2022": _paper(
        "2205.14135v2", "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", "§3"
    ),
    "saved-tensors-2026": _page(
        "https://docs.pytorch.org/docs/2.9/autograd.html#saved-tensors-default-hooks",
        "torch.autograd.graph.saved_tensors_hooks",
        "PyTorch 2.13.0, Transformers 5.24.0, CPU",
    ),
    "transformers-logits": _page(
        "https://github.com/huggingface/transformers/releases/tag/v4.45.0", "Transformers v4.45.0", "num_logits_to_keep"
    ),
}

_ATTENTION = {
    "attention-2017": _paper("1706.03762v7", "Attention Is All You Need", "§3.2"),
    "kv-cache-2022": _paper("2211.05102v1", "Efficiently Scaling Transformer Inference", "§2, §3.3"),
    "mqa-2019": _paper("1911.02150v1", "Fast Transformer Decoding: One Write-Head is All You Need", "§3"),
    "gqa-2023": _paper(
        "2305.13245v3", "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", "§2.2"
    ),
    "sliding-window-2023": _paper("2310.06825v1", "Mistral 7B", "§2"),
    "deepseek-v2-2024": _paper(
        "2405.04434v5",
        "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model",
        "§2.1",
    ),
    "paged-attention-2023": _paper(
        "2309.06180v1", "Efficient Memory Management for Large Language Model Serving with PagedAttention", "§4"
    ),
    "mamba-2023": _paper("2312.00752v2", "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", "§3"),
    "mamba2-2024": _paper(
        "2405.21060v1",
        "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State Space Duality",
        "§7",
    ),
    "gated-delta-net-2024": _paper("2412.06464v3", "Gated Delta Networks: Improving Mamba2 with Delta Rule", "§3"),
    "griffin-2024": _paper(
        "2402.19427v1",
        "Griffin: Mixing Gated Linear Recurrences with Local Attention for Efficient Language Models",
        "§2.4",
    ),
    "lightning-attention-2025": _paper(
        "2501.08313v1", "MiniMax-01: Scaling Foundation Models with Lightning Attention", "§2.2"
    ),
    "transformers-cache": _file(
        "huggingface/transformers",
        "67dd5524d384fdf6b20f6123e7a9d74e6ed96345",
        "src/transformers/cache_utils.py",
        "Transformers: cache_utils.py",
    ),
}

_PRECISION = {
    "gptq-2022": _paper(
        "2210.17323v2", "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", "§4"
    ),
    "awq-2023": _paper(
        "2306.00978v1",
        "AWQ: Activation-aware Weight Quantization for LLM Compression and Acceleration",
        "§3",
    ),
    "llm-int8-2022": _paper("2208.07339v2", "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale", "§3"),
    "fp8-2022": _paper("2209.05433v2", "FP8 Formats for Deep Learning", "§3"),
    "deepseek-v3-2024": _paper("2412.19437v2", "DeepSeek-V3 Technical Report", "§3.3"),
    "ocp-mx-2023": _page(
        "https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf",
        "OCP Microscaling Formats (MX) Specification, version 1.0",
        "MXFP4, k = 32",
    ),
    "file-header": _file("huggingface/safetensors", "v0.6.2", "README.md", "safetensors: README.md", "Format"),
    "gguf-blocks": _file(
        "ggml-org/llama.cpp",
        "ef035f779276d5f5636a0fd8cbeff6a83d646d2b",
        "gguf-py/gguf/constants.py",
        "llama.cpp: gguf-py/gguf/constants.py",
        "GGML_QUANT_SIZES",
    ),
    "gguf-mixes": _file(
        "ggml-org/llama.cpp",
        "8784689fee07c6daabf3487d24e1535534ef6e6b",
        "src/llama-quant.cpp",
        "llama.cpp: src/llama-quant.cpp",
        "llama_tensor_get_type",
    ),
    "ieee-754": _page(
        "https://doi.org/10.1109/IEEESTD.2019.8766229", "IEEE Standard for Floating-Point Arithmetic (754-2019)", "§3.6"
    ),
    "bfloat16": _paper("1905.12322v3", "A Study of BFLOAT16 for Deep Learning Training"),
}

_MODEL = {
    "hf-config": _page("https://huggingface.co/docs/transformers/v5.0.0/main_classes/configuration", "Configuration"),
    "tied-embeddings-2016": _paper("1608.05859v3", "Using the Output Embedding to Improve Language Models"),
    "switch-2021": _paper(
        "2101.03961v3",
        "Switch Transformers: Scaling to Trillion Parameter Models with Simple and Efficient Sparsity",
        "§2",
    ),
    "mixtral-2024": _paper("2401.04088v1", "Mixtral of Experts", "§2.1"),
    "peft-lora": _file(
        "huggingface/peft",
        "b28a09c44695163806dc2d560ec2faa1ce2949c5",
        "src/peft/tuners/lora/layer.py",
        "PEFT: tuners/lora/layer.py",
    ),
}

_DEVICE = {
    "nvidia-smi-readings": _page(
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html", "nvidia-smi", "FB Memory Usage: Total"
    ),
    "cuda-context-2026": _file(
        "huggingface/optimum-benchmark",
        "f75d9f93bb14ed56058f4c70ae4670b6cf3a8ed1",
        "examples/running-llamas/artifacts/Llama-7b/full_report.csv",
        "optimum-benchmark: running-llamas",
        "508–1428 MiB",
    ),
    "cuda-allocator": _page(
        "https://docs.pytorch.org/docs/2.9/notes/cuda.html#cuda-memory-management", "CUDA semantics: memory management"
    ),
    "vllm-memory": _file(
        "vllm-project/vllm", "c1d86421174a87056edc90a41dc9942391509e84", "vllm/config/cache.py", "vLLM: CacheConfig"
    ),
    "llama-cpp-kv": _file(
        "ggml-org/llama.cpp",
        "3514e9f6e795d3b3cd88d6614f6c07e7ce6f916f",
        "src/llama-kv-cache.cpp",
        "llama.cpp: llama-kv-cache.cpp",
    ),
    "vllm-batch": _file(
        "vllm-project/vllm",
        "99d7eb5d6a512cfcc5a2b104f24ebf2d6cda772b",
        "vllm/engine/arg_utils.py",
        "vLLM: EngineArgs.get_batch_defaults",
    ),
    "vllm-pool": _file(
        "vllm-project/vllm",
        "001cabc1be16a59a70d720ed61a13b678c060a18",
        "vllm/v1/core/kv_cache_utils.py",
        "vLLM: kv_cache_utils.py",
    ),
    "vllm-worker": _file(
        "vllm-project/vllm",
        "0012cf691b7e69423244d2b1405f4b6832156e19",
        "vllm/v1/worker/gpu_worker.py",
        "vLLM: Worker.determine_available_memory",
    ),
    "vllm-lora": _file(
        "vllm-project/vllm",
        "1ace43ed7b3c79daba3b4828fdaf30dcb4094adb",
        "vllm/lora/layers/base_linear.py",
        "vLLM: BaseLinearLayerWithLoRA",
    ),
    "llama-cpp-graph": _file(
        "ggml-org/llama.cpp",
        "434f71a5b4d1ff9c9c9b59e08326f0fe3d15193a",
        "src/llama-graph.cpp",
        "llama.cpp: llama-graph.cpp",
    ),
    "llama-cpp-model": _file(
        "ggml-org/llama.cpp",
        "a5410f046c01d01330c8a42f13b64a211fedf2c3",
        "src/llama-model.cpp",
        "llama.cpp: llama-model.cpp",
    ),
    "fms-acceleration": _file(
        "foundation-model-stack/fms-acceleration",
        "876e2ed6fc4e966785e3f4315f5ee3cdf8e3d097",
        "scripts/benchmarks/refs/a100_80gb.csv",
        "fms-acceleration: a100_80gb.csv",
    ),
    "qwen-speed-benchmark": _file(
        "QwenLM/Qwen3",
        "2abc0f3243e20cf45b6a3ab60308db701c0c3111",
        "docs/source/benchmark/speed_benchmark.rst",
        "Qwen2.5 Speed Benchmark",
    ),
    "qwen2-speed-benchmark": _file(
        "QwenLM/Qwen3",
        "81a7eff6b5c50f87f64f1c9fa0f62e9717713ca3",
        "docs/source/benchmark/speed_benchmark.rst",
        "Qwen2 Speed Benchmark",
    ),
    "bigscience-megatron": _file(
        "bigscience-workshop/bigscience",
        "9e64edec2ad1fb9263bf39ba616a84ff64b4d947",
        "experiments/gpt2-meg/meg_gpt2_base_n4_dp1_tp4_pp4-1809579.out",
        "BigScience: gpt2-meg",
    ),
}

SOURCES: Mapping[str, Provenance] = MappingProxyType(
    {**_TRAINING, **_ACTIVATIONS, **_ATTENTION, **_PRECISION, **_MODEL, **_DEVICE}
)
"""Every source that a component of an estimate may name, by its key."""
