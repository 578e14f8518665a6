"""The rows that miss their targets, with the causes, for the page of the benchmarks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Behind:
    """The cause for one or several rows, by their keys on a device, with the attempts so far and the next step."""

    device: str
    keys: str
    cause: str
    tried: str
    next: str


BEHIND = (
    Behind(
        "cpu",
        "a",
        "Recording 42 ops and one gradient call takes 39 µs of Python and C. XLA's call returns after 13 µs if its "
        "thread is busy, after 42 to 60 µs if the thread has to be woken.",
        "Recording in C; traces compared with that of the same line before; YNNPACK off, one thread, the whole "
        "program as one function: slower, or a switch for the whole process.",
        "Donated buffers would save 11 µs, and lose variables at an interrupt: open.",
    ),
    Behind(
        "cpu",
        "b",
        "A chain of 1,000 ops is cut into a dozen pieces, which run on NumPy at 2 to 3 µs an op, and hand 960 values on. Steps "
        "of 22 ms came of putting each of these on the device, once the gradient was compiled.",
        "Ops on NumPy run in C: a step takes 3.5 ms of CPU time for 4.9, 0.88 × PyTorch in turns, 1.22 before. "
        "Compiled code takes values as they are. XLA would repeat a chain whose values are all results.",
        "One program for the whole record, as `tf.function` has; it would be compiled anew for each length.",
    ),
    Behind(
        "cpu",
        "g gt",
        "Nothing is compiled. Of (g) about half is kernels of NumPy, a tenth full "
        "passes of the garbage collector. (gt) is NumPy's products, by half, and its sums, maxima and copies.",
        "Freed memory is kept for the next ops; half of (gt) were page faults. Records that differ in extents share their slice, "
        "its costs and one derivative. Blocks of products in one call. (g) was 3.90 × PyTorch, (gt) 6.61.",
        "Maxima over short rows in fewer steps; fewer objects that live for one shape.",
    ),
    Behind(
        "cpu",
        "gg",
        "1,300 small ops, and two segments of each length that no other has: the first one splits the batch into its steps. A "
        "third derives these. Full passes of the garbage collector over all modules take a third: 0.12 s each, once in fifteen.",
        "Segments of a loop that are equal share their derivative; ops on NumPy run in C. Two thirds of what a new length leaves "
        "behind, keys of ops, are not collected any more: no faster, since the nodes in flight bring these passes about.",
        "Fewer objects for each node.",
    ),
    Behind(
        "cpu",
        "tl tl4 tl12",
        "XLA's programs take 0.15 of 0.38 ms in (tl). The rest is Python: Keras's, replaying records, gradient calls. Of (tl12) "
        "two fifths are XLA's program, and a fifth cuts 20 columns of indices and looks at them.",
        "Losses and metrics are replayed as layers are: (tl) took 0.56 ms. One run on the host computes all that a record's "
        "checks look at, and the state of layers and optimizers is compared in C: (tl12) took 2.19 ms.",
        "Columns of one tensor cut and looked at together.",
    ),
    Behind(
        "cpu",
        "tl5 tl7 tl10 tl11 tl13 n6",
        "Kernels: a step takes 0.7 to 1.1 times as long as in gradtape's `fit`. TensorFlow's convolutions are oneDNN's, for "
        "these processors. Its gradient to a filter of 3 × 3 cells from 64 channels to 32 takes 8 ms of CPU time, Eigen's 15.",
        "Products for filters of one cell and for few channels: inverted residuals in 85 ms of CPU time for 134. Products with "
        "patches elsewhere: 1.1 to 7 times as long. oneDNN through `jax.ffi`: see docs/dependencies.md.",
        "Open.",
    ),
    Behind(
        "cpu",
        "ob",
        "Half of a call put the new extents into the ops of the Program and of its record; the rest runs them on NumPy.",
        "Only the places that hold extents are gone through, which are looked up once: 0.35 ms of CPU time for 0.46, in turns.",
        "Open.",
    ),
    Behind(
        "cpu",
        "hd",
        "NumPy computes products, copies of windows and random numbers of a first step; products are a third of it.",
        "Products in blocks that BLAS computes by one thread; no products with the zeros of strides.",
        "Open; with programs cached on disk the target is met.",
    ),
    Behind(
        "cpu",
        "hn3 hn5 hn6 hn7 hn10 hn11 hn13",
        "A step is one program. LLVM takes four fifths of compiling it, 22 ms of CPU time a kernel: 60 for the autoencoder, 63 "
        "for the stem, 92 for the U-Net, 376 for the inverted residuals. A third are Adam's, three a variable. Of the stem's "
        "3.5 s of CPU time half are its eight steps, 0.22 s each for TensorFlow's 0.12.",
        "LLVM's level 2: 0.80 to 0.97 of the compilation, but (sm) runs 1.45 times as long; level 0 half, and twice. XLA's older "
        "emitters: 0.65, but steps take 1.1 to 1.3 times as long. YNNPACK for elementwise ops: 0.8 to 0.95, up to 1.6. Without "
        "unrolled loops 0.75, a switch for the whole process. Steps on NumPy: 0.75 s each for the stem.",
        "One kernel a variable in Adam. The gradients of max pooling and of the 7×7 filter are a third of the stem's code.",
    ),
    Behind(
        "cpu",
        "hn12",
        "Eight steps run node by node, each op on NumPy: nothing is compiled, for one epoch is too short to gain by it.",
        "Ops on NumPy run in C. A window of an array is one step there.",
        "Open.",
    ),
    Behind(
        "cpu",
        "k k10 k100000 l",
        "XLA's CPU compiler makes a kernel of each op that it does not fuse, and from ten kernels on a trip costs "
        "more. In (k10) it is Python: 7 µs of a call, of which 4 are wrapping results and finding the function.",
        "Loops compiled as one function take a third to a half of the time, and some others ten times as long: "
        "`gradtape.config.tune_loops()`.",
        "Open.",
    ),
    Behind(
        "cpu",
        "lm",
        "Seven trips take 9 µs each, Optimistix's eight 11. A call has 45 µs of Python, twice that with cold caches: it looks at "
        "the function and the variables, and makes the result. XLA's call takes 30 µs before the first trip.",
        "No thread of its own for the loop; arrays of the start stay on the device; one product of the Jacobian with itself has "
        "norms, gradient and normal equations: from 357 to 255 µs, at 110 to 115 of Optimistix. XLA's libraries for products "
        "make no difference.",
        "Fewer kernels in the search of a damping: 25 of them a trial, which counts where a fit makes a hundred trips. A batch "
        "is ahead.",
    ),
    Behind(
        "cpu",
        "l2 hv o3",
        "The compiled program takes as long as JAX's; the rest is the call in Python, 7 to 10 µs.",
        "Results are made, and variables assigned, in C.",
        "Open.",
    ),
    Behind(
        "cpu",
        "m",
        "PyTorch runs the many small products in parallel; in XLA they take 8.8 ms by themselves.",
        "Seven arrays kept for each trip instead of twelve, each written once. By hand in JAX the best form took 9.2 ms.",
        "Open.",
    ),
    Behind(
        "cpu",
        "n n2",
        "(n) is 0.08 ms a batch behind; on a quiet machine it was 1.37 ×. 27 results become tensors, 23 of them are "
        "assigned. Labels are looked at on the host, 4 % of (n2): out of range they are an error.",
        "A profile of the main thread: nothing stands out.",
        "Open.",
    ),
    Behind(
        "cpu",
        "sg",
        "asdex makes the sums of unit vectors constants of the program, and XLA computes the linear part of the residual with "
        "them as it compiles. Ours was computed in each call.",
        "That part is computed once, as the function is traced: 85 µs of CPU time for 172, asdex 88 in turns. It was 2.20 ×.",
        "Open.",
    ),
    Behind(
        "cpu",
        "lap",
        "Two products take 615 of 880 µs of CPU time, for folx as well. Before the second one XLA copies a megabyte, because of "
        "an axis of length 1. From run to run folx takes 0.46 to 1.25 ms: the C library gives memory back.",
        "Summands are vectors, so one of two copies is gone: 0.49 ms for 0.55.",
        "No axes of length 1 in the ops between the products.",
    ),
    Behind(
        "gpu",
        "a c d j pe ja",
        "The card has the same work as with `jax.jit`, or less. The host is behind: it records the step, finds its "
        "program and makes its results. In (d) 108 µs are recording and 236 the call.",
        "A program runs without tuned kernels at first, and is compiled anew after eight runs.",
        "Open.",
    ),
    Behind(
        "gpu",
        "g",
        "A new shape is compiled, in 0.1 s; PyTorch compiles nothing. `jax.jit` takes half a second.",
        "Compiling without trying kernels: 0.17 s for 0.57.",
        "Open.",
    ),
    Behind(
        "gpu",
        "rn",
        "bfloat16: 11.7 ms of kernels, 12.6 with `jax.jit`, but the host records for 6 ms and starts kernels for 14. "
        "Memory: the compiler takes some to try kernels while results of the forward pass are held.",
        "One program for the whole step: 23 ms, as nothing then runs while the rest is recorded.",
        "Open: where the 0.4 GiB are that bfloat16 holds beyond `jax.jit`.",
    ),
)
