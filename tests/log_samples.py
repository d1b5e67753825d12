"""Lines of logs as programs print them, with what they say: ``(text, {(name, device): MiB as printed})``.

Written from format strings and outputs in public repositories, numbers changed where they would tell whose they are:
``vllm-project/vllm`` (files named in ``calc.paste.log_vllm``), ``ggml-org/llama.cpp`` (in ``calc.paste.log_llama``),
``pytorch/pytorch`` ``c10/cuda/CUDACachingAllocator.cpp`` (0.4 to 2.9), ``ROCm/rocm_smi_lib`` ``rocm_smi.py``, and
tables of nvidia-smi 418 to 595 in public READMEs.
"""

from decimal import Decimal

Expected = dict[tuple[str, str], str]

GIB = Decimal(1024)


def gib(text: str) -> str:
    """A number of GiB as MiB."""
    return str(Decimal(text) * GIB)


VLLM: tuple[tuple[str, Expected], ...] = (
    # V0, 0.2 to 0.6: float(2**30) labelled GB
    (
        "INFO 05-30 16:23:22 model_runner.py:1115] Loading model weights took 2.8875 GB",
        {("weights", "GPU 0"): gib("2.8875")},
    ),
    # V0, 0.6.4 to 0.9
    (
        "INFO 05-30 16:23:28 worker.py:267] the current vLLM instance can use total_gpu_memory (14.56GiB) x "
        "gpu_memory_utilization (0.50) = 7.28GiB\nINFO 05-30 16:23:28 worker.py:267] model weights take 2.89GiB; "
        "non_torch_memory takes 0.01GiB; PyTorch activation peak memory takes 2.02GiB; the rest of the memory reserved "
        "for KV Cache is 2.36GiB.",
        {
            ("device_total", "GPU 0"): gib("14.56"),
            ("budget", "GPU 0"): gib("7.28"),
            ("weights", "GPU 0"): gib("2.89"),
            ("non_torch", "GPU 0"): gib("0.01"),
            ("activation_peak", "GPU 0"): gib("2.02"),
            ("kv_pool", "GPU 0"): gib("2.36"),
        },
    ),
    # 0.6.4, and 0.6.5
    (
        "INFO 11-20 worker.py:232] Memory profiling results: total_gpu_memory=44.35GiB initial_memory_usage=0.52GiB "
        "peak_torch_memory=9.52GiB memory_usage_post_profile=0.60GiB non_torch_memory=0.34GiB kv_cache_size=8.77GiB "
        "gpu_memory_utilization=0.42",
        {
            ("device_total", "GPU 0"): gib("44.35"),
            ("non_torch", "GPU 0"): gib("0.34"),
            ("kv_pool", "GPU 0"): gib("8.77"),
        },
    ),
    (
        "INFO 12-13 worker.py:243] total_gpu_memory     79.22GiB\nINFO 12-13 worker.py:243] gpu_memory_utilization  "
        "0.90\n"
        "INFO 12-13 worker.py:243] the current vLLM instance can use    71.29GiB\n"
        "INFO 12-13 worker.py:243] model weights take   14.96GiB\nINFO 12-13 worker.py:243] non_torch_memory     "
        "1.79GiB\n"
        "INFO 12-13 worker.py:243] PyTorch activation peak memory       1.26GiB\n"
        "INFO 12-13 worker.py:243] available_kv_cache_memory    53.29GiB",
        {
            ("device_total", "GPU 0"): gib("79.22"),
            ("weights", "GPU 0"): gib("14.96"),
            ("non_torch", "GPU 0"): gib("1.79"),
            ("activation_peak", "GPU 0"): gib("1.26"),
            ("kv_pool", "GPU 0"): gib("53.29"),
        },
    ),
    # the same, broken by a terminal
    (
        "model weights take 15.27GiB;\n  non_torch_memory takes 0.06GiB; PyTorch activation peak memory takes 1.40GiB; "
        "the rest of the memory\n  reserved for KV Cache is 5.33GiB.",
        {
            ("weights", "GPU 0"): gib("15.27"),
            ("non_torch", "GPU 0"): gib("0.06"),
            ("activation_peak", "GPU 0"): gib("1.40"),
            ("kv_pool", "GPU 0"): gib("5.33"),
        },
    ),
    # nothing left: what was missing
    ("the rest of the memory reserved for KV Cache is -0.94GiB.", {("kv_missing", "GPU 0"): gib("0.94")}),
    # V1, 0.8: GB again
    ("Model loading took 14.9888 GB and 5.120013 seconds", {("weights", "GPU 0"): gib("14.9888")}),
    # V1, 0.9 to 0.11
    (
        "\x1b[1;36m(EngineCore_0 pid=123)\x1b[0;0m INFO 08-18 10:00:00 [gpu_model_runner.py:2007] Model loading took "
        "14.9596 GiB and 3.2 seconds\r\n(EngineCore_0 pid=123) INFO 08-18 09:59:58 [gpu_worker.py:276] Available KV "
        "cache "
        "memory: 20.93 GiB\r\n",
        {("weights", "GPU 0"): gib("14.9596"), ("kv_pool", "GPU 0"): gib("20.93")},
    ),
    # V1, 0.15 and later: format_gib drops the last zeros, and says memory
    (
        "(EngineCore pid=326) INFO 10-06 17:00:11 [model_runner.py:407] Model loading took 15.0 GiB memory and 5.4 "
        "seconds",
        {("weights", "GPU 0"): gib("15.0")},
    ),
    # DEBUG, with the prefix of Docker Compose
    (
        "vllm-1  | DEBUG 08-06 10:17:28 [gpu_worker.py:265] Initial free memory: 43.82 GiB; Requested memory: 0.90 "
        "(util), "
        "39.88 GiB\nvllm-1  | DEBUG 08-06 10:17:28 [gpu_worker.py:278] Memory profiling takes 7.26 seconds. Total "
        "non KV "
        "cache memory: 2.78GiB; torch peak memory increase: 0.45GiB; non-torch forward increase memory: 0.02GiB; "
        "weights "
        "memory: 2.32GiB.",
        {
            ("budget", "GPU 0"): gib("39.88"),
            ("activation_peak", "GPU 0"): gib("0.45"),
            ("non_torch", "GPU 0"): gib("0.02"),
            ("weights", "GPU 0"): gib("2.32"),
        },
    ),
    # after the graphs, with the pool in bytes
    (
        "INFO 09-23 18:12:39 [gpu_worker.py:391] Free memory on device (78.66/79.19 GiB) on startup. Desired GPU "
        "memory "
        "utilization is (0.9, 71.27 GiB). Actual usage is 14.08 GiB for weight, 1.97 GiB for peak activation, 0.07 "
        "GiB for "
        "non-torch memory, and 0.67 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with "
        "`--kv-cache-memory=58333988249` to fit into requested memory. Current kv cache memory in use is 1048576 "
        "bytes.",
        {
            ("device_free", "GPU 0"): gib("78.66"),
            ("device_total", "GPU 0"): gib("79.19"),
            ("budget", "GPU 0"): gib("71.27"),
            ("weights", "GPU 0"): gib("14.08"),
            ("activation_peak", "GPU 0"): gib("1.97"),
            ("non_torch", "GPU 0"): gib("0.07"),
            ("cuda_graphs", "GPU 0"): gib("0.67"),
            ("kv_pool", "GPU 0"): "1",
        },
    ),
    # 2026: weights and the rest together
    (
        "Actual usage is 15.26 GiB for consumed memory (weights + non-torch), 1.44 GiB for peak activation, and 0.23 "
        "GiB "
        "for CUDAGraph memory.",
        {
            ("weights_and_non_torch", "GPU 0"): gib("15.26"),
            ("activation_peak", "GPU 0"): gib("1.44"),
            ("cuda_graphs", "GPU 0"): gib("0.23"),
        },
    ),
    # graphs
    (
        "(Worker_TP0 pid=57) INFO 06-21 07:20:29 [gpu_model_runner.py:6376] Estimated CUDA graph memory: 0.55 GiB "
        "total\n"
        "(Worker_TP1 pid=58) INFO [gpu_model_runner.py:3118] Graph capturing finished in 5 secs, took 0.67 GiB",
        {("cuda_graphs_estimated", "GPU 0"): gib("0.55"), ("cuda_graphs", "GPU 1"): gib("0.67")},
    ),
    # workers of each version
    (
        "(VllmWorker rank=3 pid=254) INFO Model loading took 8.5000 GiB and 1.0 seconds",
        {("weights", "GPU 3"): gib("8.5")},
    ),
    (
        "(Worker_TP2_EP2 pid=41) INFO Model loading took 8.5 GiB memory and 1.0 seconds",
        {("weights", "GPU 2"): gib("8.5")},
    ),
    (
        "(Worker_PP1_TP0 pid=41) INFO Model loading took 8.5 GiB memory and 1.0 seconds",
        {("weights", "PP1_TP0"): gib("8.5")},
    ),
    # refusals
    (
        "ValueError: To serve at least one request with the models's max seq len (16384), (3.0 GiB KV cache is "
        "needed, which "
        "is larger than the available KV cache memory (0.18 GiB). Based on the available memory, the estimated maximum "
        "model length is 976.",
        {("kv_needed", "GPU 0"): gib("3.0"), ("kv_pool", "GPU 0"): gib("0.18")},
    ),
    (
        "ValueError: Free memory on device cuda:0 (13.33/22.07 GiB) on startup is less than desired GPU memory "
        "utilization "
        "(0.9, 19.86 GiB).",
        {
            ("device_free", "GPU 0"): gib("13.33"),
            ("device_total", "GPU 0"): gib("22.07"),
            ("budget", "GPU 0"): gib("19.86"),
        },
    ),
)

LLAMA: tuple[tuple[str, Expected], ...] = (
    # 2025 and later
    ("load_tensors:        CUDA0 model buffer size =  4403.49 MiB", {("weights", "GPU 0"): "4403.49"}),
    ("0.00.979.528 I load_tensors:   CPU_Mapped model buffer size =   257.66 MiB", {("weights", "CPU"): "257.66"}),
    (
        "[34m1.14.609.487[0m [32mI [0mload_tensors:     CUDA14 model buffer size = 12698.93 MiB",  # a terminal ate ESC
        {("weights", "GPU 14"): "12698.93"},
    ),
    ("load_tensors: Metal_Mapped model buffer size = 12000.00 MiB", {("weights", "GPU 0"): "12000.00"}),
    ("llama_kv_cache:      ROCm1 KV buffer size =   640.00 MiB", {("kv_cache", "GPU 1"): "640.00"}),
    ("llama_kv_cache_unified:    Vulkan0 KV buffer size =   192.00 MiB", {("kv_cache", "GPU 0"): "192.00"}),
    ("0.00.329.704 I init:      CUDA0 KV buffer size =     9.00 MiB", {("kv_cache", "GPU 0"): "9.00"}),
    ("llama_kv_cache_init:        CPU KV buffer size =  8000.00 MiB", {("kv_cache", "CPU"): "8000.00"}),
    (
        "llama_kv_cache: size =  640.00 MiB (  4096 cells,  40 layers,  1/1 seqs), K (f16):  320.00 MiB, V (f16):  "
        "320.00 MiB",
        {("kv_cache_total", "all"): "640.00"},
    ),
    (
        "llama_new_context_with_model: KV self size  = 10880.00 MiB, K (q8_0): 5440.00 MiB, V (q8_0): 5440.00 MiB",
        {("kv_cache_total", "all"): "10880.00"},
    ),
    (
        "2026-05-14 22:14:31.046 | llama_memory_recurrent:      CUDA0 RS buffer size =   598.50 MiB",
        {("recurrent_state", "GPU 0"): "598.50"},
    ),
    ("sched_reserve:      CUDA0 compute buffer size =   126.77 MiB", {("compute_buffer", "GPU 0"): "126.77"}),
    ("llama_context:  CUDA_Host compute buffer size =    24.01 MiB", {("compute_buffer", "CPU"): "24.01"}),
    ("llama_context:  CUDA_Host  output buffer size =     0.49 MiB", {("output_buffer", "CPU"): "0.49"}),
    ("llama_new_context_with_model:  CUDA_Host input buffer size =    10.01 MiB", {("input_buffer", "CPU"): "10.01"}),
    (
        "load_tensors: RPC[10.0.0.2:50052] model buffer size = 900.00 MiB",
        {("weights", "RPC[10.0.0.2:50052]"): "900.00"},
    ),
    # the first months of 2024: no word for the weights
    ("llm_load_tensors:      CUDA0 buffer size =  3577.56 MiB", {("weights", "GPU 0"): "3577.56"}),
    ("llm_load_tensors:        CPU buffer size =    63.84 MiB", {("weights", "CPU"): "63.84"}),
    # until January 2024 the weights alone, until October 2023 with the cache
    ("llm_load_tensors: VRAM used: 20607.34 MiB", {("weights", "GPU 0"): "20607.34"}),
    (
        "llm_load_tensors: mem required  =  140.86 MB (+ 1280.00 MB per state)\nllm_load_tensors: VRAM used: 40643 MB\n"
        "llama_new_context_with_model: kv self size  = 1280.00 MB\n"
        "llama_new_context_with_model: compute buffer total size =  561.47 MB",
        {
            ("host_buffers", "CPU"): "140.86",
            ("gpu_buffers", "all"): "40643",
            ("kv_cache_total", "all"): "1280.00",
            ("compute_buffer", "all"): "561.47",
        },
    ),
    ("llama_model_load_internal: total VRAM used: 13148 MB", {("gpu_buffers", "all"): "13148"}),
    # the file, the plan, the table at the end
    ("print_info: file size   = 4.58 GiB (4.89 BPW) ", {("file_weights", "all"): gib("4.58")}),
    ("llm_load_print_meta: model size       = 63.84 MiB (16.12 BPW) ", {("file_weights", "all"): "63.84"}),
    (
        "llama_params_fit_impl: projected to use 3185 MiB of device memory vs. 6339 MiB of free device memory",
        {("projected", "all"): "3185"},
    ),
    (
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:01:00.0) - 23306 MiB free",
        {("device_free", "GPU 0"): "23306"},
    ),
    (
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1234.50 MiB on device 0: cudaMalloc failed: out of "
        "memory",
        {("requested", "GPU 0"): "1234.50"},
    ),
    (
        "llama_memory_breakdown_print: |   - CUDA0 (RTX 5090)   | 32606 = 1057 + (29365 = 28609 +     397 +     358) +"
        "        2183 |\nllama_memory_breakdown_print: |   - Host               |                 30956 = 30940 +    "
        "   0 +"
        "      16                |",
        {
            ("device_total", "GPU 0"): "32606",
            ("device_free", "GPU 0"): "1057",
            ("device_used", "GPU 0"): "31549",
            ("unaccounted", "GPU 0"): "2183",
            ("weights", "GPU 0"): "28609",
            ("kv_cache", "GPU 0"): "397",
            ("compute_buffer", "GPU 0"): "358",
            ("weights", "CPU"): "30940",
            ("compute_buffer", "CPU"): "16",
        },
    ),
    # printed before loading: its last number went below zero
    (
        "common_memory_breakdown_print: |   - CUDA0 (RTX 5060 Ti) | 15841 = 15630 + (15302 = 14736 +      72 +     "
        "493) + "
        "17592186029324 |",
        {
            ("device_total", "GPU 0"): "15841",
            ("weights", "GPU 0"): "14736",
            ("kv_cache", "GPU 0"): "72",
            ("compute_buffer", "GPU 0"): "493",
        },
    ),
)

PYTORCH: tuple[tuple[str, Expected], ...] = (
    # 0.4 to 1.3
    (
        "RuntimeError: CUDA out of memory. Tried to allocate 49.00 MiB (GPU 0; 3.95 GiB total capacity; 2.43 GiB "
        "already "
        "allocated; 17.81 MiB free; 81.24 MiB cached)",
        {
            ("requested", "GPU 0"): "49.00",
            ("device_total", "GPU 0"): gib("3.95"),
            ("allocated", "GPU 0"): gib("2.43"),
            ("device_free", "GPU 0"): "17.81",
            ("reserved_unallocated", "GPU 0"): "81.24",
        },
    ),
    # 1.4 to 2.0
    (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 200.00 MiB (GPU 1; 14.61 GiB total "
        "capacity; "
        "13.76 GiB already allocated; 37.12 MiB free; 13.77 GiB reserved in total by PyTorch) If reserved memory is >> "
        "allocated memory try setting max_split_size_mb to avoid fragmentation.",
        {
            ("requested", "GPU 1"): "200.00",
            ("device_total", "GPU 1"): gib("14.61"),
            ("allocated", "GPU 1"): gib("13.76"),
            ("device_free", "GPU 1"): "37.12",
            ("reserved", "GPU 1"): gib("13.77"),
        },
    ),
    # with nothing free, broken and commented by whoever pasted it
    (
        "# RuntimeError: CUDA out of memory. Tried to allocate 2.00 MiB\n# (GPU 0; 8.00 GiB total\n# capacity; "
        "203.44 MiB "
        "already allocated; 0 bytes free;\n# 6.44 GiB reserved in total by PyTorch)",
        {
            ("requested", "GPU 0"): "2.00",
            ("device_total", "GPU 0"): gib("8.00"),
            ("allocated", "GPU 0"): "203.44",
            ("device_free", "GPU 0"): "0",
            ("reserved", "GPU 0"): gib("6.44"),
        },
    ),
    # 2.1 and later
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of "
        "47.53 GiB "
        "of which 16.88 MiB is free. Process 3652628 has 47.51 GiB memory in use. Of the allocated memory 47.14 GiB is "
        "allocated by PyTorch, and 57.79 MiB is reserved by PyTorch but unallocated. If reserved but unallocated "
        "memory is "
        "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        {
            ("requested", "GPU 0"): "256.00",
            ("device_total", "GPU 0"): gib("47.53"),
            ("device_free", "GPU 0"): "16.88",
            ("process_used", "GPU 0"): gib("47.51"),
            ("allocated", "GPU 0"): gib("47.14"),
            ("reserved_unallocated", "GPU 0"): "57.79",
        },
    ),
    # 2.1 had a letter less
    (
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.70 GiB. GPU 0 has a total capacty of 6.00 GiB of "
        "which "
        "0 bytes is free. Of the allocated memory 2.93 GiB is allocated by PyTorch, and 2.30 GiB is reserved by "
        "PyTorch "
        "but unallocated.",
        {
            ("requested", "GPU 0"): gib("1.70"),
            ("device_total", "GPU 0"): gib("6.00"),
            ("device_free", "GPU 0"): "0",
            ("allocated", "GPU 0"): gib("2.93"),
            ("reserved_unallocated", "GPU 0"): gib("2.30"),
        },
    ),
    # pools of the CUDA graphs
    (
        "ERROR 08-01 [core.py:5] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 768.00 MiB. GPU 0 has "
        "a total "
        "capacity of 83.05 GiB of which 140.38 MiB is free. Including non-PyTorch memory, this process has 23.33 GiB "
        "memory "
        "in use. Of the allocated memory 21.92 GiB is allocated by PyTorch, with 104.00 MiB allocated in private pools "
        "(e.g., CUDA Graphs), and 797.79 MiB is reserved by PyTorch but unallocated.",
        {
            ("requested", "GPU 0"): "768.00",
            ("device_total", "GPU 0"): gib("83.05"),
            ("device_free", "GPU 0"): "140.38",
            ("process_used", "GPU 0"): gib("23.33"),
            ("allocated", "GPU 0"): gib("21.92"),
            ("private_pools", "GPU 0"): "104.00",
            ("reserved_unallocated", "GPU 0"): "797.79",
        },
    ),
    # a limit of the process
    (
        "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.99 GiB of which 3.42 GiB "
        "is free. "
        "19.19 GiB allowed; Of the allocated memory 19.01 GiB is allocated by PyTorch",
        {
            ("requested", "GPU 0"): "512.00",
            ("device_total", "GPU 0"): gib("23.99"),
            ("device_free", "GPU 0"): gib("3.42"),
            ("allowed", "GPU 0"): gib("19.19"),
            ("allocated", "GPU 0"): gib("19.01"),
        },
    ),
    # a counter that went below zero
    (
        "CUDA out of memory. Tried to allocate 3.98 GiB. GPU 0 has a total capacity of 31.84 GiB of which 16.30 GiB "
        "is free. "
        "Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. 17.51 GiB allowed; Of the "
        "allocated memory 6.74 GiB is allocated by PyTorch, and 7.02 GiB is reserved by PyTorch but unallocated.",
        {
            ("requested", "GPU 0"): gib("3.98"),
            ("device_total", "GPU 0"): gib("31.84"),
            ("device_free", "GPU 0"): gib("16.30"),
            ("allowed", "GPU 0"): gib("17.51"),
            ("allocated", "GPU 0"): gib("6.74"),
            ("reserved_unallocated", "GPU 0"): gib("7.02"),
        },
    ),
    # AMD
    (
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 978.00 MiB. GPU 0 has a total capacity of "
        "15.98 GiB of "
        "which 630.00 MiB is free. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by "
        "PyTorch but unallocated.",
        {
            ("requested", "GPU 0"): "978.00",
            ("device_total", "GPU 0"): gib("15.98"),
            ("device_free", "GPU 0"): "630.00",
            ("allocated", "GPU 0"): "0",
            ("reserved_unallocated", "GPU 0"): "0",
        },
    ),
    # Apple: GB that are GiB
    (
        "RuntimeError: MPS backend out of memory (MPS allocated: 17.36 GB, other allocations: 613.56 MB, max "
        "allowed: 18.13 "
        "GB). Tried to allocate 192.00 MB on private pool.",
        {
            ("requested", "GPU 0"): "192.00",
            ("allocated", "GPU 0"): gib("17.36"),
            ("other_allocations", "GPU 0"): "613.56",
            ("allowed", "GPU 0"): gib("18.13"),
        },
    ),
    # Ascend
    (
        "RuntimeError: NPU out of memory. Tried to allocate 31.67 GiB (NPU 2; 32.00 GiB total capacity; 6.30 GiB "
        "already "
        "allocated; 24.39 GiB free; 6.55 GiB reserved in total by PyTorch)",
        {
            ("requested", "GPU 2"): gib("31.67"),
            ("device_total", "GPU 2"): gib("32.00"),
            ("allocated", "GPU 2"): gib("6.30"),
            ("device_free", "GPU 2"): gib("24.39"),
            ("reserved", "GPU 2"): gib("6.55"),
        },
    ),
)

_HEAD = """\
Wed Aug 21 13:52:41 2024
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""

TWO_GPUS = f"""{_HEAD}\
|   0  NVIDIA A40                     Off |   00000000:65:00.0 Off |                    0 |
|  0%   30C    P0             81W /  300W |     370MiB /  46068MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA A40                     Off |   00000000:CA:00.0 Off |                    0 |
|  0%   29C    P0             70W /  300W |   21276MiB /  46068MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            1234      C   /usr/bin/python3 train.py                 362MiB |
|    1   N/A  N/A            1235    C+G   python                              21268MiB |
+-----------------------------------------------------------------------------------------+
"""

NVIDIA: tuple[tuple[str, Expected], ...] = (
    (
        TWO_GPUS,
        {
            ("device_used", "GPU 0"): "370",
            ("device_total", "GPU 0"): "46068",
            ("device_used", "GPU 1"): "21276",
            ("device_total", "GPU 1"): "46068",
            ("process_used", "GPU 0"): "362",
            ("process_used", "GPU 1"): "21268",
        },
    ),
    # 418 to 520, Docker Compose before each line
    (
        "smi-1  | |   3  NVIDIA A100-SXM...  On   | 00000000:00:04.0 Off |                    0 |\n"
        "smi-1  | | N/A   28C    P0    47W / 400W |     76MiB / 40960MiB |      0%      Default |",
        {("device_used", "GPU 3"): "76", ("device_total", "GPU 3"): "40960"},
    ),
    # until 440
    (
        "|   0  TITAN RTX           Off  | 00000000:73:00.0 Off |                  N/A |\r\n"
        "| 21%   35C    P0     1W / 280W |      0MiB / 24189MiB |      0%      Default |\r\n"
        "|=============================================================================|\r\n"
        "|    0      2101      C   python3                                      11023MiB |\r\n",
        {("device_used", "GPU 0"): "0", ("device_total", "GPU 0"): "24189", ("process_used", "GPU 0"): "11023"},
    ),
    # Windows
    (
        "|   0  NVIDIA GeForce RTX 4090      WDDM  |   00000000:01:00.0  On |                  Off |\n"
        "| 31%   35C    P8             27W /  450W |   21913MiB /  24564MiB |      0%      Default |",
        {("device_used", "GPU 0"): "21913", ("device_total", "GPU 0"): "24564"},
    ),
    # the row of figures alone, as a comment
    (
        "# |  0%   45C    P8              20W / 450W |    512MiB / 24564MiB |      0%      Default |",
        {("device_used", "GPU 0"): "512", ("device_total", "GPU 0"): "24564"},
    ),
    # MIG: the second row of an instance is its window into the PCI bus
    (
        "|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:E3:00.0 Off |                   On |\n"
        "| N/A   25C    P0              46W / 400W |    259MiB / 40960MiB |     N/A      Default |\n"
        "| MIG devices:                                                                          |\n"
        "|  0    2   0   0  |              37MiB / 19968MiB  | 42      0 |  3   0    2    0    0 |\n"
        "|                  |               0MiB / 32767MiB  |           |                       |\n",
        {
            ("device_used", "GPU 0"): "259",
            ("device_total", "GPU 0"): "40960",
            ("device_used", "GPU 0 MIG 0"): "37",
            ("device_total", "GPU 0 MIG 0"): "19968",
        },
    ),
    # --format=csv
    (
        "index, utilization.gpu [%], memory.used [MiB]\n0, 75 %, 77537 MiB\n1, 0 %, 5 MiB\n",
        {("device_used", "GPU 0"): "77537", ("device_used", "GPU 1"): "5"},
    ),
    (
        "name, compute_cap, memory.free [MiB], memory.used [MiB], memory.total [MiB]\n"
        "NVIDIA L40S, 8.9, 45469 MiB, 0 MiB, 46068 MiB\nNVIDIA L40S, 8.9, 45468 MiB, 1 MiB, 46068 MiB",
        {
            ("device_free", "GPU 0"): "45469",
            ("device_used", "GPU 0"): "0",
            ("device_total", "GPU 0"): "46068",
            ("device_free", "GPU 1"): "45468",
            ("device_used", "GPU 1"): "1",
            ("device_total", "GPU 1"): "46068",
        },
    ),
    # nounits, repeated each second: the largest
    (
        "timestamp, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
        "2026-07-21 12:00:00, 50, 1000, 98000\n2026-07-21 12:00:01, 70, 2000, 98000\n2026-07-21 12:00:02, 1, 900, "
        "98000",
        {("device_used", "GPU 0"): "2000", ("device_total", "GPU 0"): "98000"},
    ),
    (
        "pci.bus_id, memory.used [MiB]\n00000000:3B:00.0, 4 MiB\n00000000:8B:00.0, 9 MiB\n00000000:3B:00.0, 7 MiB",
        {("device_used", "GPU 0"): "7", ("device_used", "GPU 1"): "9"},
    ),
    # unified memory has no figures of its own
    (
        "utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n0 %, [N/A], [N/A]\n2 %, 25187 MiB, 32607 MiB",
        {("device_used", "GPU 1"): "25187", ("device_total", "GPU 1"): "32607"},
    ),
    # a process with commas in its name
    (
        "pid, process_name, used_gpu_memory [MiB]\n38, /opt/chrome --type=gpu-process, --foo, 5530 MiB",
        {("process_used", "GPU"): "5530"},
    ),
    # nvidia-smi -q -d MEMORY
    (
        "GPU 00000000:01:00.0\n    FB Memory Usage\n        Total                             : 49140 MiB\n"
        "        Reserved                          : 569 MiB\n        Used                              : 11 MiB\n"
        "        Free                              : 48560 MiB\n    BAR1 Memory Usage\n"
        "        Total                             : 65536 MiB\n        Used                              : 65535 MiB\n"
        "GPU 00000000:02:00.0\n    FB Memory Usage\n        Total                             : 24564 MiB\n"
        "        Used                              : N/A\n",
        {
            ("device_total", "GPU 0"): "49140",
            ("driver_reserved", "GPU 0"): "569",
            ("device_used", "GPU 0"): "11",
            ("device_free", "GPU 0"): "48560",
            ("device_total", "GPU 1"): "24564",
        },
    ),
)

ROCM: tuple[tuple[str, Expected], ...] = (
    (
        "GPU[0]\t\t: VRAM Total Memory (B): 33554432\nGPU[0]\t\t: VRAM Total Used Memory (B): 1048576",
        {("device_total", "GPU 0"): "32", ("device_used", "GPU 0"): "1"},
    ),
    ("GPU[3]: VRAM Total Used Memory (B): 1048576  # 1 MB", {("device_used", "GPU 3"): "1"}),
    ("GPU[0] : vram Total Memory (B): 12582912", {("device_total", "GPU 0"): "12"}),
    (
        '{"card0": {"VRAM Total Memory (B)": "33554432", "VRAM Total Used Memory (B)": "1048576"}, '
        '"card1": {"VRAM Total Memory (B)": "2097152"}}',
        {("device_total", "GPU 0"): "32", ("device_used", "GPU 0"): "1", ("device_total", "GPU 1"): "2"},
    ),
    (
        '{\n  "card2": {\n    "VRAM Total Memory (B)": "33554432",\n    "VRAM Total Used Memory (B)": "0"\n  }\n}',
        {("device_total", "GPU 2"): "32", ("device_used", "GPU 2"): "0"},
    ),
)

NOTHING = (
    "",
    " \n\t\r\n",
    "nothing of the kind",
    "Model loading took 3.5 seconds",
    "Model loading took 1e400 GiB",
    "Model loading took nan GiB",
    "Model loading took 99999999999999999999 GiB",
    "Model loading took 900000000000 GiB",
    "load_tensors: CUDA0 model buffer size = 4403,49 MiB",
    "load_tensors: CUDA0 model buffer size = MiB",
    "load_tensors: CUDA0 model buffer size = 1 Mib",
    "~llama_context:        CPU compute buffer size is 518.0020 MiB, matches expectation of 518.0020 MiB",
    "whisper_init: CUDA0 buffer size = 12.00 MiB",
    "model size = 7B",
    "load_tensors: CUDA0 model buffer size = -5.00 MiB",
    "Actual usage is -1.0 GiB for weight",
    "CUDA out of memory",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "CUDA out of memory. Tried to allocate ",
    "|                               |     76MiB / 40960MiB |      0%      Default |",
    "| N/A   28C    P0    47W / 400W |     76MB / 40960MB |      0%      Default |",
    "memory.used [MiB]",
    "22021 MiB, 24564 MiB",
    "FB Memory Usage                       : N/A",
    "GPU[0]\t\t: VRAM Total Memory (B): 99999999999999999999",
    "GPU  Temp   AvgPwr  SCLK    MCLK    Fan     Perf  PwrCap  VRAM%  GPU%\n0    34.0c  3.179W  214Mhz  300Mhz  auto "
    " 1%   0%",
    "99999999999999999999 GiB for peak activation",
    "x1.5 GiB for peak activation",
)
"""Texts that say nothing, or nothing that a memory can have."""
