"""How XLA compiles in tests.

Each program is compiled once: without optimizing, fusing loops in MLIR, or splitting a program over threads that takes a third
of the time. `make test-long` sets XLA_FLAGS to nothing, so that optimized code is tested as well.
"""

QUICK = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
