"""How XLA compiles in tests.

Each program is compiled once: without optimizing, fusing loops in MLIR, or splitting a program over threads that takes a third
of the time. `make test-long` sets XLA_FLAGS to nothing, so that optimized code is tested as well.
"""

import importlib.metadata

QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_parallel_codegen_split_count=1"
# XLA ends the process at a flag that it does not know, and later ones do not know this one.
if importlib.metadata.version("jaxlib").startswith("0.10."):
    QUICK += " --xla_cpu_use_fusion_emitters=false"
