/* Recording in C: the hot path of the engine.

   The Python functions are the definition. A `Twin` replaces one: it handles the common case of its Python function, and calls that
   function in all other cases, before it has changed anything. So Python raises nearly all errors, and has all rules beyond plain eager
   code. The comment above each function names its Python function.

   A function that returns an `Outcome` has done its work (DONE), left everything as it was (TWIN: let the Python function do it), or
   set an error (FAILED).

   Steps that can run Python code (hashing attributes, or creating objects, by which the garbage collector may run finalizers) come first.
   Then the thread's trace is read and changed without running Python code. So no finalizer and no other thread sees a partial change.

   README.md lists the assumptions about the interpreter. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <math.h>

typedef enum { FAILED = -1, TWIN = 0, DONE = 1 } Outcome;

/* ------------------------------------------------------------------------------------------------------------------
   Set by `bind`: classes, the offsets of their slots, objects of the engine */

static PyTypeObject *Node, *Trace, *Op, *Aval, *EagerTensor, *ResourceVariable, *UnreadVariable, *Structure, *Array;
static PyObject *local, *internal, *wanted, *numbers, *cut, *element_op, *execution_names, *engine_names, *naming_names;
static PyObject *others, *journal_names, *exits, *journal_serial, *Left, *left, *as_array, *leaf_key, *guesses;
static unsigned long main_thread;
static Py_ssize_t longest; /* engine.LIMIT */
static int enabled;

static struct {
    Py_ssize_t aval, code, handle, index, inputs, key, offset, origin, trace, value; /* of a Node */
} node_at;
static struct {
    Py_ssize_t assigned, leaf_index, leaves, limit, nodes, overrides, parent, reads, scope, serial;
} trace_at;
static struct {
    Py_ssize_t dtype, inexact, ndim;
} aval_at;
static struct {
    Py_ssize_t avals, keys;
} structure_at;
static struct {
    Py_ssize_t attributes, avals, guards, kernel;
} op_at;
static Py_ssize_t tensor_node, unread_of;

static PyObject *nothing, *zero, *minus_one; /* (), 0, -1 */
static PyObject *n_trace, *n_tapes, *n_pauses, *n_anchor, *n_eager, *n_tensor, *n_num, *n_assigned_in, *n_shared, *n_acquire, *n_release, *n_open_graphs;
static PyObject *n_latest, *n_comprehensions, *n_append, *n_view, *n_flags, *n_writeable, *n_array, *n_traces,
    *n_on_host, *n_dtype, *n_contiguous, *n_copy;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

static inline void put(PyObject *object, Py_ssize_t offset, PyObject *value) { /* object.slot = value */
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = Py_NewRef(value);
    Py_XDECREF(before);
}

static inline int is(PyObject *object, PyTypeObject *type) { /* isinstance(object, type): it has the slots, which may be empty */
    return object != NULL && PyObject_TypeCheck(object, type);
}

static inline int is_none(PyObject *value) { return value == NULL || value == Py_None; }

static inline int is_tensor(PyObject *object) { return Py_IS_TYPE(object, EagerTensor); }

static inline PyObject *node_of(PyObject *tensor) { /* tensor.node, borrowed; NULL without an error if it has none */
    PyObject *node = SLOT(tensor, tensor_node);
    return node != NULL && Py_IS_TYPE(node, Node) && is(SLOT(node, node_at.aval), Aval) ? node : NULL;
}

static inline PyObject *dtype_of(PyObject *node) { return SLOT(SLOT(node, node_at.aval), aval_at.dtype); }

static inline int inexact(PyObject *node) { return SLOT(SLOT(node, node_at.aval), aval_at.inexact) == Py_True; }

static int has_rank(PyObject *node, long rank) { /* node.aval.ndim == rank; an Unranked has none */
    PyObject *ndim = SLOT(SLOT(node, node_at.aval), aval_at.ndim);
    return ndim != NULL && PyLong_Check(ndim) && PyLong_AsLong(ndim) == rank;
}

static inline int is_number(PyObject *node) { /* node.index == NUMBER */
    PyObject *index = SLOT(node, node_at.index);
    return index != NULL && PyLong_CheckExact(index) && PyLong_AsLong(index) == -2;
}

static int alive(PyObject *reference) { /* whether the object of a weak reference is alive */
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object;
    int found = PyWeakref_GetRef(reference, &object);
    Py_XDECREF(object);
    return found;
#else
    return PyWeakref_GetObject(reference) != Py_None;
#endif
}

/* ------------------------------------------------------------------------------------------------------------------
   Recording ops */

/* The last op recorded by a twin, which is often the next one, too: the Avals of inputs and result; a number and its leaf. */
typedef struct {
    PyObject *x, *y, *aval;
    PyObject *number, *dtype, *leaf;
} Latest;

static inline void keep(PyObject **place, PyObject *value) { Py_XSETREF(*place, Py_XNewRef(value)); }

/* Return the result's Aval or Avals from `op.avals` for these attributes and inputs (a new reference), like `engine.record`. */
static Outcome find_aval(PyObject *op, PyObject *attrs, PyObject *inputs, Latest *latest, PyObject **result) {
    PyObject *avals = SLOT(op, op_at.avals);
    if (avals == NULL || !PyDict_CheckExact(avals)) return TWIN;
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    PyObject *x = count > 0 ? SLOT(PyTuple_GET_ITEM(inputs, 0), node_at.aval) : NULL;
    PyObject *y = count > 1 ? SLOT(PyTuple_GET_ITEM(inputs, 1), node_at.aval) : NULL;
    if (latest != NULL && latest->aval != NULL && latest->x == x && latest->y == y) {
        *result = Py_NewRef(latest->aval);
        return DONE;
    }
    PyObject *key = PyTuple_New(count + 1);
    if (key == NULL) return FAILED;
    PyTuple_SET_ITEM(key, 0, Py_NewRef(attrs));
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(key, i + 1, Py_NewRef(SLOT(PyTuple_GET_ITEM(inputs, i), node_at.aval)));
    Py_INCREF(avals);
    *result = Py_XNewRef(PyDict_GetItemWithError(avals, key));
    Py_DECREF(avals);
    Py_DECREF(key);
    if (*result == NULL) return PyErr_Occurred() ? FAILED : TWIN;
    if (latest != NULL) {
        keep(&latest->aval, NULL);
        keep(&latest->x, x);
        keep(&latest->y, y);
        keep(&latest->aval, *result);
    }
    return DONE;
}

/* Find the innermost instruction outside of `files`: the code object (a new reference) and the offset in it. If there is none, find the
   outermost one, or return TWIN. For `engine.record` and `journal.user_line`. */
static Outcome user_line(PyObject *files, int or_outermost, PyObject **code, int *offset) {
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    if (frame == NULL) return TWIN;
    for (;;) {
        PyCodeObject *here = PyFrame_GetCode(frame);
        PyObject *ours = Py_XNewRef(PyDict_GetItemWithError(files, here->co_filename));
        if (ours == NULL && !PyErr_Occurred()) ours = PyObject_GetItem(files, here->co_filename); /* which enters it */
        if (ours == NULL) {
            Py_DECREF(here);
            Py_DECREF(frame);
            return FAILED;
        }
        int inside = ours == Py_True;
        Py_DECREF(ours);
        PyFrameObject *back = inside ? PyFrame_GetBack(frame) : NULL;
        if (back == NULL && inside && !or_outermost) {
            Py_DECREF(here);
            Py_DECREF(frame);
            return TWIN;
        }
        if (back == NULL) {
            *code = (PyObject *)here;
            *offset = PyFrame_GetLasti(frame);
            Py_DECREF(frame);
            return DONE;
        }
        Py_DECREF(here);
        Py_DECREF(frame);
        frame = back;
    }
}

/* Return whether to call `engine._cut`: the trace has its maximum length, or a loop may be back at its anchor. */
static int is_to_be_cut(PyObject *trace, int offset) {
    Py_ssize_t count = PyList_GET_SIZE(SLOT(trace, trace_at.nodes));
    PyObject *stated = SLOT(trace, trace_at.limit);
    Py_ssize_t limit = stated != NULL ? PyLong_AsSsize_t(stated) : -1;
    if (limit == -1 && PyErr_Occurred()) return -1;
    if (count < limit) return 0;
    if (limit <= 0 || count >= longest) return 1; /* the limit is 0 in a forked process, where the next op raises */
    PyObject *anchor = PyObject_GetAttr(local, n_anchor);
    if (anchor == NULL) return -1;
    /* Python compares code objects that are equal without being the same */
    int at = PyTuple_CheckExact(anchor) && PyTuple_GET_SIZE(anchor) == 2 && PyLong_AsLong(PyTuple_GET_ITEM(anchor, 1)) == offset;
    Py_DECREF(anchor);
    return at;
}

/* Return whether an input needs no `engine.adopt`, so that `reference` handles it. */
static int is_at_hand(PyObject *trace, PyObject *node) {
    if (SLOT(node, node_at.trace) == trace || is_number(node)) return 1;
    if (SLOT(node, node_at.value) != Py_None && SLOT(trace, trace_at.parent) == Py_None) return 1;
    return PyDict_Contains(SLOT(trace, trace_at.leaf_index), node);
}

/* Return the reference of an input (a new int), adding a leaf if needed, like `engine.record`. */
static PyObject *reference(PyObject *trace, PyObject *node) {
    if (SLOT(node, node_at.trace) == trace) return Py_NewRef(SLOT(node, node_at.index));
    PyObject *known = SLOT(trace, trace_at.leaf_index), *leaves = SLOT(trace, trace_at.leaves);
    int shared = !is_number(node);
    if (shared) {
        PyObject *found = PyDict_GetItemWithError(known, node);
        if (found != NULL) return Py_NewRef(found);
        if (PyErr_Occurred()) return NULL;
    }
    PyObject *made = PyLong_FromSsize_t(-PyList_GET_SIZE(leaves) - 1);
    if (made == NULL || PyList_Append(leaves, node) < 0 || (shared && PyDict_SetItem(known, node, made) < 0)) Py_CLEAR(made);
    return made;
}

/* Whether the garbage collector need not look at attributes: they hold numbers, words and dtypes. */
static int are_atoms(PyObject *attrs) {
    if (!PyTuple_CheckExact(attrs)) return 0;
    if (!PyObject_GC_IsTracked(attrs)) return 1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(attrs); i++) {
        PyObject *item = PyTuple_GET_ITEM(attrs, i);
        if (PyObject_IS_GC(item) && !are_atoms(item)) return 0;
    }
    return 1;
}

/* Spare the garbage collector a key with such attributes: an op lives as long as the process, so no garbage goes through the key.
   Of what a step keeps, keys are the most. */
static void spare(PyObject *key) {
    if (is(PyTuple_GET_ITEM(key, 0), Op) && are_atoms(PyTuple_GET_ITEM(key, 1)) && PyObject_GC_IsTracked(key)) PyObject_GC_UnTrack(key);
}

/* Create a node with all slots but the key and the place in a trace, like `Node.__init__`. */
static PyObject *new_node(PyObject *inputs, PyObject *aval, PyObject *code, PyObject *offset) {
    PyObject *node = Node->tp_alloc(Node, 0);
    if (node == NULL) return NULL;
    SLOT(node, node_at.inputs) = Py_NewRef(inputs);
    SLOT(node, node_at.aval) = Py_NewRef(aval);
    SLOT(node, node_at.code) = Py_NewRef(code);
    SLOT(node, node_at.offset) = Py_NewRef(offset);
    SLOT(node, node_at.value) = Py_NewRef(Py_None);
    SLOT(node, node_at.handle) = Py_NewRef(Py_None);
    SLOT(node, node_at.origin) = Py_NewRef(Py_None);
    return node;
}

/* Create the tensor of a node, and the node's weak reference to it, like `tensor.emit`. */
static PyObject *new_tensor(PyObject *node) {
    PyObject *tensor = EagerTensor->tp_alloc(EagerTensor, 0);
    if (tensor == NULL) return NULL;
    SLOT(tensor, tensor_node) = Py_NewRef(node);
    PyObject *handle = PyWeakref_NewRef(tensor, NULL);
    if (handle == NULL) {
        Py_DECREF(tensor);
        return NULL;
    }
    put(node, node_at.handle, handle);
    Py_DECREF(handle);
    return tensor;
}

/* Return whether the parts of a trace have the expected types. */
static int is_whole(PyObject *trace) {
    PyObject *nodes, *leaves, *known;
    return (nodes = SLOT(trace, trace_at.nodes)) != NULL && PyList_CheckExact(nodes) && (leaves = SLOT(trace, trace_at.leaves)) != NULL &&
           PyList_CheckExact(leaves) && (known = SLOT(trace, trace_at.leaf_index)) != NULL && PyDict_CheckExact(known);
}

/* Return whether ops are recorded without overrides of gradients. */
static int is_plain(PyObject *trace) { return is(trace, Trace) && SLOT(trace, trace_at.overrides) == Py_None && is_whole(trace); }

/* Return whether no input needs `engine.adopt`. */
static Outcome are_at_hand(PyObject *trace, PyObject *inputs) {
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    for (Py_ssize_t i = 0; i < count; i++) {
        int ready = is_at_hand(trace, PyTuple_GET_ITEM(inputs, i));
        if (ready <= 0) return ready < 0 ? FAILED : TWIN;
    }
    return DONE;
}

/* Append a node to a trace in a single step, like the end of `engine.record`. */
static Outcome append(PyObject *trace, PyObject *node, PyObject *key, PyObject *inputs) {
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    PyObject *nodes = SLOT(trace, trace_at.nodes), *index = PyLong_FromSsize_t(PyList_GET_SIZE(nodes));
    if (index == NULL) return FAILED;
    SLOT(node, node_at.index) = index;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *referred = reference(trace, PyTuple_GET_ITEM(inputs, i));
        if (referred == NULL) return FAILED;
        PyTuple_SET_ITEM(key, i + 2, referred);
    }
    SLOT(node, node_at.key) = Py_NewRef(key);
    SLOT(node, node_at.trace) = Py_NewRef(trace);
    return PyList_Append(nodes, node) < 0 ? FAILED : DONE;
}

/* Reads of variables for the open tapes, without their place: (place, variable, node). */
typedef struct {
    PyObject *of[2]; /* for each of the first two operands; NULL: not a variable */
} Reads;

/* Note reads of variables, like `Variable.read`. */
static Outcome note_reads(PyObject *trace, Reads *reads) {
    if (SLOT(trace, trace_at.scope) != Py_None) return TWIN; /* a function's scope has the variables' values */
    PyObject *noted = SLOT(trace, trace_at.reads), *tapes = PyObject_GetAttr(local, n_tapes);
    if (tapes == NULL) return FAILED;
    int watched = PyList_CheckExact(tapes) ? PyList_GET_SIZE(tapes) > 0 : -1;
    Py_DECREF(tapes);
    if (watched < 0 || noted == NULL || !PyList_CheckExact(noted)) return TWIN;
    for (int i = 0; watched && i < 2; i++) {
        if (reads->of[i] == NULL) continue;
        PyObject *place = PyLong_FromSsize_t(PyList_GET_SIZE(SLOT(trace, trace_at.nodes)));
        if (place == NULL) return FAILED;
        PyTuple_SET_ITEM(reads->of[i], 0, place);
        if (PyList_Append(noted, reads->of[i]) < 0) return FAILED;
    }
    return DONE;
}

/* Return DONE if no tape is stopped, else TWIN: each read of a variable is a node of its own then. */
static Outcome none_stopped(void) {
    PyObject *pauses = PyObject_GetAttr(local, n_pauses);
    if (pauses == NULL) return FAILED;
    int any = PyObject_IsTrue(pauses);
    Py_DECREF(pauses);
    return any < 0 ? FAILED : any ? TWIN : DONE;
}

/* Append an op to the thread's trace; return its node and, if `tensor` is not NULL, its Tensor: `engine.record`, `tensor.emit`.

   `reads` (or NULL) are the reads of variables among the inputs. `latest` (or NULL) is the cache of a twin that records an op of one or
   two inputs, always with the same attributes. */
static Outcome record(PyObject *op, PyObject *inputs, PyObject *attrs, Reads *reads, Latest *latest, PyObject **node, PyObject **tensor) {
    PyObject *aval = NULL, *code = NULL, *key = NULL, *trace = NULL, *at = NULL;
    int offset;
    *node = NULL;
    if (!enabled || !is(op, Op)) return TWIN;
    Py_ssize_t count = PyTuple_GET_SIZE(inputs);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *input = PyTuple_GET_ITEM(inputs, i);
        if (!Py_IS_TYPE(input, Node) || SLOT(input, node_at.aval) == NULL) return TWIN;
    }
    Outcome outcome = find_aval(op, attrs, inputs, latest, &aval);
    if (outcome == DONE && tensor != NULL && PyTuple_Check(aval)) outcome = TWIN;
    if (outcome == DONE) outcome = user_line(internal, 1, &code, &offset);
    if (outcome != DONE) goto done;
    outcome = FAILED;
    if ((key = PyTuple_New(count + 2)) == NULL) goto done;
    PyTuple_SET_ITEM(key, 0, Py_NewRef(op));
    PyTuple_SET_ITEM(key, 1, Py_NewRef(attrs));
    spare(key);
    if ((at = PyLong_FromLong(offset)) == NULL) goto done;
    if ((*node = new_node(inputs, aval, code, at)) == NULL) goto done;
    if (tensor != NULL && (*tensor = new_tensor(*node)) == NULL) goto done;
    if ((trace = PyObject_GetAttr(local, n_trace)) == NULL) goto done; /* creates the state of a new thread */
    outcome = TWIN;
    if (!is_plain(trace)) goto done;
    int cut_here = is_to_be_cut(trace, offset);
    if (cut_here != 0) {
        outcome = cut_here < 0 ? FAILED : TWIN;
        goto done;
    }
    outcome = are_at_hand(trace, inputs);
    if (outcome == DONE && reads != NULL) outcome = none_stopped();
    if (outcome == DONE && reads != NULL) outcome = note_reads(trace, reads);
    if (outcome == DONE) outcome = append(trace, *node, key, inputs);
done:
    if (outcome != DONE) {
        if (tensor != NULL) Py_CLEAR(*tensor);
        Py_CLEAR(*node);
    }
    Py_XDECREF(aval);
    Py_XDECREF(code);
    Py_XDECREF(key);
    Py_XDECREF(at);
    Py_XDECREF(trace);
    return outcome;
}

/* ------------------------------------------------------------------------------------------------------------------
   Operands */

/* Return the node of a tensor, or of a variable's present value (a new reference), with the read noted; else TWIN. */
static Outcome operand(PyObject *value, PyObject **node, PyObject **read) {
    if (is_tensor(value)) {
        *node = Py_XNewRef(node_of(value));
        return *node != NULL ? DONE : TWIN;
    }
    if (!Py_IS_TYPE(value, ResourceVariable)) return TWIN;
    PyObject *held = PyObject_GetAttr(value, n_tensor);
    if (held == NULL) return FAILED;
    *node = is_tensor(held) ? Py_XNewRef(node_of(held)) : NULL;
    Py_DECREF(held);
    if (*node == NULL) return TWIN;
    if ((*read = PyTuple_New(3)) == NULL) return FAILED;
    PyTuple_SET_ITEM(*read, 1, Py_NewRef(value));
    PyTuple_SET_ITEM(*read, 2, Py_NewRef(*node));
    return DONE;
}

/* Return whether `engine.number` can be used: for a float or a 64-bit int, except -0.0, which equals 0.0. */
static int is_plain_number(PyObject *value, int ints) {
    if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value) != 0.0 || !signbit(PyFloat_AS_DOUBLE(value));
    if (!ints || !PyLong_CheckExact(value)) return 0;
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0 && number != LLONG_MIN;
}

/* Return the leaf of a Python number (a new reference) if it was used before and is on the device, like `engine.number`. */
static Outcome number(PyObject *value, PyObject *dtype, Latest *latest, PyObject **node) {
    if (latest->leaf != NULL && latest->number == value && latest->dtype == dtype) {
        *node = Py_NewRef(latest->leaf);
        return DONE;
    }
    PyObject *num = PyObject_GetAttr(dtype, n_num);
    if (num == NULL) return FAILED;
    PyObject *key = PyTuple_Pack(2, value, num);
    Py_DECREF(num);
    if (key == NULL) return FAILED;
    PyObject *known = Py_XNewRef(PyDict_GetItemWithError(numbers, key));
    Py_DECREF(key);
    if (known == NULL) return PyErr_Occurred() ? FAILED : TWIN;
    PyObject *held = Py_IS_TYPE(known, Node) && is(SLOT(known, node_at.aval), Aval) ? SLOT(known, node_at.value) : NULL;
    if (held == NULL || held == Py_None || Py_IS_TYPE(held, Array)) {
        Py_DECREF(known);
        return TWIN;
    }
    keep(&latest->leaf, NULL);
    keep(&latest->number, value);
    keep(&latest->dtype, dtype);
    keep(&latest->leaf, known);
    *node = known;
    return DONE;
}

/* Return whether each op runs at once (`execution.eager`), which Python has to do. */
static int runs_at_once(void) {
    PyObject *eager = PyDict_GetItemWithError(execution_names, n_eager);
    return eager != Py_False;
}

/* ------------------------------------------------------------------------------------------------------------------
   The twin of a Python function */

typedef struct Twin Twin;
typedef Outcome (*Body)(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result);
struct Twin {
    PyObject_HEAD
    vectorcallfunc call;
    Body body;
    PyObject *python;     /* the Python function */
    PyObject *op, *attrs; /* the op that it records, if that is always the same; else None */
    long rank;            /* the rank of its operands, or -1 */
    Latest latest;
    int public;           /* whether errors of the body are cut here, as in the Python function */
    PyObject *names, *references; /* its __dict__ and weak references */
};

/* Remove the library's frames from the traceback of the current error, like `tracebacks.cut`. */
static void cut_error(void) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL && PyException_SetTraceback(error, traceback) < 0) PyErr_Clear();
    PyObject *done = PyObject_CallOneArg(cut, error);
    if (done == NULL) PyErr_Clear();
    Py_XDECREF(done);
    Py_XDECREF(traceback);
    PyErr_Restore(type, error, PyException_GetTraceback(error));
}

static PyObject *twin_call(PyObject *callable, PyObject *const *args, size_t flags, PyObject *names) {
    Twin *self = (Twin *)callable;
    if (enabled && (names == NULL || PyTuple_GET_SIZE(names) == 0)) {
        PyObject *result = NULL;
        Outcome outcome = self->body(self, args, PyVectorcall_NARGS(flags), &result);
        if (outcome == DONE) return result;
        if (outcome == FAILED) {
            if (self->public) cut_error();
            return NULL;
        }
    }
    return PyObject_Vectorcall(self->python, args, flags, names);
}

/* `engine.record` */
static Outcome twin_record(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count < 2 || count > 3 || !PyTuple_CheckExact(args[1])) return TWIN;
    return record(args[0], args[1], count == 3 ? args[2] : nothing, NULL, NULL, result, NULL);
}

/* `tensor.emit` */
static Outcome twin_emit(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count < 2 || count > 3 || !PyTuple_CheckExact(args[1]) || runs_at_once()) return TWIN;
    PyObject *node;
    Outcome outcome = record(args[0], args[1], count == 3 ? args[2] : nothing, NULL, NULL, &node, result);
    Py_XDECREF(node);
    return outcome;
}

/* Record the twin's op on one or two nodes, whose references it steals; return the Tensor. */
static Outcome emit(Twin *self, PyObject *x, PyObject *y, Reads *reads, PyObject **result) {
    PyObject *node = NULL, *inputs = y == NULL ? PyTuple_Pack(1, x) : PyTuple_Pack(2, x, y);
    if (inputs == NULL) return FAILED;
    int variables = reads != NULL && (reads->of[0] != NULL || reads->of[1] != NULL);
    Outcome outcome = record(self->op, inputs, self->attrs, variables ? reads : NULL, &self->latest, &node, result);
    Py_DECREF(inputs);
    Py_XDECREF(node);
    return outcome;
}

/* Call the public function of an op with one tensor: `define._unary`. */
static Outcome twin_unary(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 1 || !is_tensor(args[0]) || runs_at_once()) return TWIN;
    PyObject *x = Py_XNewRef(node_of(args[0]));
    if (x == NULL) return TWIN;
    Outcome outcome = emit(self, x, NULL, NULL, result);
    Py_DECREF(x);
    return outcome;
}

/* Handle two operands of the same dtype, or a tensor and a number: the fast paths of `convert.operands` and `define.binary_operator`.

   An operator accepts ints with floats, and only inexact dtypes. */
static Outcome pair(Twin *self, PyObject *first, PyObject *second, int operator, PyObject **result) {
    PyObject *x = NULL, *y = NULL;
    Reads reads = {{NULL, NULL}};
    if (runs_at_once()) return TWIN;
    Outcome outcome = operand(first, &x, &reads.of[0]);
    if (outcome != DONE) goto done;
    outcome = TWIN;
    if (operator && !inexact(x)) goto done;
    if (self->rank < 0 && is_plain_number(second, operator) && inexact(x)) {
        outcome = number(second, dtype_of(x), &self->latest, &y);
    } else {
        outcome = operand(second, &y, &reads.of[1]);
    }
    if (outcome != DONE) goto done;
    outcome = TWIN;
    if (dtype_of(x) != dtype_of(y)) goto done;
    if (self->rank >= 0 && !(has_rank(x, self->rank) && has_rank(y, self->rank))) goto done;
    outcome = emit(self, x, y, &reads, result);
done:
    Py_XDECREF(x);
    Py_XDECREF(y);
    Py_XDECREF(reads.of[0]);
    Py_XDECREF(reads.of[1]);
    return outcome;
}

/* Call the public function of an op with two tensors: `define._binary`. */
static Outcome twin_binary(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    return count == 2 ? pair(self, args[0], args[1], 0, result) : TWIN;
}

/* Call an operator: `forward` in `define.binary_operator`. */
static Outcome twin_forward(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    return count == 2 ? pair(self, args[0], args[1], 1, result) : TWIN;
}

/* Call an operator between a float and a tensor: `reflected` in `define.binary_operator`. */
static Outcome twin_reflected(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2 || self->rank >= 0 || !is_tensor(args[0]) || !is_plain_number(args[1], 0) || runs_at_once()) return TWIN;
    PyObject *x = Py_XNewRef(node_of(args[0])), *y = NULL;
    if (x == NULL) return TWIN;
    Outcome outcome = inexact(x) ? number(args[1], dtype_of(x), &self->latest, &y) : TWIN;
    if (outcome == DONE) outcome = emit(self, y, x, NULL, result);
    Py_DECREF(x);
    Py_XDECREF(y);
    return outcome;
}

/* `engine.elements` */
static Outcome twin_elements(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 1 || !Py_IS_TYPE(args[0], Node)) return TWIN;
    PyObject *node = args[0], *avals = SLOT(node, node_at.aval), *trace = SLOT(node, node_at.trace), *index = SLOT(node, node_at.index);
    if (avals == NULL || !PyTuple_CheckExact(avals) || SLOT(node, node_at.value) != Py_None || !is(trace, Trace)) return TWIN;
    PyObject *nodes = SLOT(trace, trace_at.nodes), *inputs = PyTuple_Pack(1, node);
    if (inputs == NULL) return FAILED;
    Outcome outcome = FAILED;
    Py_ssize_t outputs = PyTuple_GET_SIZE(avals);
    PyObject *made = PyList_New(outputs);
    if (made == NULL) goto done;
    for (Py_ssize_t i = 0; i < outputs; i++) {
        PyObject *element = new_node(inputs, PyTuple_GET_ITEM(avals, i), SLOT(node, node_at.code), SLOT(node, node_at.offset));
        if (element == NULL) goto done;
        PyList_SET_ITEM(made, i, element);
        PyObject *key = Py_BuildValue("O(n)O", element_op, i, index);
        if (key == NULL) goto done;
        SLOT(element, node_at.key) = key;
        spare(key);
        SLOT(element, node_at.trace) = Py_NewRef(trace);
    }
    Py_ssize_t first = PyList_GET_SIZE(nodes);
    for (Py_ssize_t i = 0; i < outputs; i++) {
        PyObject *place = PyLong_FromSsize_t(first + i);
        if (place == NULL) goto done;
        SLOT(PyList_GET_ITEM(made, i), node_at.index) = place;
    }
    if (PyList_SetSlice(nodes, first, first, made) == 0) outcome = DONE;
done:
    Py_DECREF(inputs);
    if (outcome == DONE) *result = made;
    else Py_XDECREF(made);
    return outcome;
}

/* Assign a tensor, like the end of `Variable._hold`, with `Variable._keep_for_undo`; `undo` is (variable, old tensor). */
static Outcome hold(PyObject *trace, PyObject *variable, PyObject *undo, PyObject *tensor) {
    PyObject *serial = SLOT(trace, trace_at.serial), *assigned = SLOT(trace, trace_at.assigned);
    PyObject *since = PyObject_GetAttr(variable, n_assigned_in);
    if (since == NULL) return FAILED;
    int first = PyObject_RichCompareBool(since, serial, Py_NE);
    Py_DECREF(since);
    if (first < 0) return FAILED;
    if (first && (PyObject_SetAttr(variable, n_assigned_in, serial) < 0 || PyList_Append(assigned, undo) < 0)) return FAILED;
    return PyObject_SetAttr(variable, n_tensor, tensor) < 0 ? FAILED : DONE;
}

/* Update a variable by a tensor with its Aval, in plain eager code, while `engine.shared` is held: the body of `Variable._update`. */
static Outcome update(PyObject *variable, PyObject *op, PyObject *delta) {
    PyObject *held = PyObject_GetAttr(variable, n_tensor), *before = NULL, *inputs = NULL, *undo = NULL;
    PyObject *trace = NULL, *node = NULL, *latest = NULL;
    Reads read = {{NULL, NULL}};
    if (held == NULL) return FAILED;
    Outcome outcome = operand(variable, &before, &read.of[0]);
    if (outcome != DONE) goto done;
    outcome = FAILED;
    if ((trace = PyObject_GetAttr(local, n_trace)) == NULL) goto done;
    outcome = TWIN;
    if (!is_plain(trace) || SLOT(trace, trace_at.scope) != Py_None || !PyList_CheckExact(SLOT(trace, trace_at.assigned))) goto done;
    if (SLOT(before, node_at.aval) != SLOT(delta, node_at.aval)) goto done;
    outcome = FAILED;
    if ((inputs = PyTuple_Pack(2, before, delta)) == NULL || (undo = PyTuple_Pack(2, variable, held)) == NULL) goto done;
    outcome = record(op, inputs, nothing, NULL, NULL, &node, &latest);
    if (outcome != DONE) goto done;
    Py_SETREF(trace, Py_NewRef(SLOT(node, node_at.trace)));
    outcome = note_reads(trace, &read);
    if (outcome == DONE) outcome = hold(trace, variable, undo, latest);
    if (outcome == TWIN) outcome = FAILED; /* not after the op was recorded: `note_reads` has found a trace that is not eager code's */
done:
    if (outcome == FAILED && !PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "the trace changed while an op was recorded");
    Py_XDECREF(held);
    Py_XDECREF(before);
    Py_XDECREF(inputs);
    Py_XDECREF(undo);
    Py_XDECREF(trace);
    Py_XDECREF(node);
    Py_XDECREF(latest);
    Py_XDECREF(read.of[0]);
    return outcome;
}

/* `variable.unread` */
static PyObject *unread(PyObject *variable) {
    PyObject *made = UnreadVariable->tp_alloc(UnreadVariable, 0);
    if (made != NULL) SLOT(made, unread_of) = Py_NewRef(variable);
    return made;
}

/* `Variable.assign_add` and `Variable.assign_sub` with a tensor; `Variable._update` takes the lock. */
static Outcome twin_update(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2 || !Py_IS_TYPE(args[0], ResourceVariable) || !is_tensor(args[1]) || runs_at_once()) return TWIN;
    PyObject *lock = Py_XNewRef(PyDict_GetItemWithError(engine_names, n_shared)), *delta = Py_XNewRef(node_of(args[1]));
    Outcome outcome = TWIN;
    if (lock == NULL || delta == NULL) goto done;
    PyObject *taken = PyObject_CallMethodNoArgs(lock, n_acquire);
    outcome = FAILED;
    if (taken == NULL) goto done;
    Py_DECREF(taken);
    outcome = update(args[0], self->op, delta);
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyObject *released = PyObject_CallMethodNoArgs(lock, n_release);
    if (released == NULL && outcome != FAILED) outcome = FAILED;
    else if (released == NULL) PyErr_Clear();
    Py_XDECREF(released);
    if (type != NULL) PyErr_Restore(type, error, traceback);
    if (outcome == DONE && (*result = unread(args[0])) == NULL) outcome = FAILED;
done:
    Py_XDECREF(lock);
    Py_XDECREF(delta);
    return outcome;
}

/* Return whether a graph is being built (`naming.open_graphs`), so that public calls have names; -1 on error. */
static int graphs_are_open(void) {
    PyObject *graphs = PyDict_GetItemWithError(naming_names, n_open_graphs);
    if (graphs != NULL && PyLong_CheckExact(graphs) && PyLong_AsLong(graphs) == 0) return 0;
    return PyErr_Occurred() ? -1 : 1;
}

/* Call a public function of two operands whose op graphs name: `ops.math.arithmetic.add`, `ops.linalg.matmul.matmul`. */
static Outcome twin_public(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2) return TWIN;
    int graphs = graphs_are_open();
    if (graphs != 0) return graphs < 0 ? FAILED : TWIN;
    return pair(self, args[0], args[1], 0, result);
}

/* ------------------------------------------------------------------------------------------------------------------
   Running a trace */

/* Return whether a node without a value has a live tensor: 1, 0, or -1 if only Python can tell. */
static int is_live(PyObject *node) {
    PyObject *handle = SLOT(node, node_at.handle);
    if (handle == Py_None || SLOT(node, node_at.value) != Py_None) return 0;
    if (handle == wanted) return 1;
    return handle != NULL && PyWeakref_CheckRef(handle) ? alive(handle) : -1;
}

static int are_nodes(PyObject *nodes) {
    if (!PyList_CheckExact(nodes)) return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++)
        if (!Py_IS_TYPE(PyList_GET_ITEM(nodes, i), Node)) return 0;
    return 1;
}

/* Return a list of one slot of each node; NULL without an error if a slot is not set. */
static PyObject *each(PyObject *nodes, Py_ssize_t slot) {
    Py_ssize_t count = PyList_GET_SIZE(nodes);
    PyObject *found = PyList_New(count); /* may run Python code, but none that can see the list */
    if (found == NULL) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *value = i < PyList_GET_SIZE(nodes) ? SLOT(PyList_GET_ITEM(nodes, i), slot) : NULL;
        if (value == NULL) {
            Py_DECREF(found);
            return NULL;
        }
        PyList_SET_ITEM(found, i, Py_NewRef(value));
    }
    return found;
}

/* `program.spared` */
static Outcome twin_spared(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 1 || !PyTuple_CheckExact(args[0])) return TWIN;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[0]); i++) {
        PyObject *key = PyTuple_GET_ITEM(args[0], i);
        if (PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) >= 2) spare(key);
    }
    *result = Py_NewRef(args[0]);
    return DONE;
}

/* Return whether a list has the same objects, or equal ints, as a slot of nodes. */
static int is_column(PyObject *list, PyObject *nodes, Py_ssize_t slot) {
    int same = PyList_CheckExact(list) && PyList_GET_SIZE(list) == PyList_GET_SIZE(nodes);
    for (Py_ssize_t i = 0; same && i < PyList_GET_SIZE(nodes); i++) {
        PyObject *known = PyList_GET_ITEM(list, i), *value = SLOT(PyList_GET_ITEM(nodes, i), slot);
        int ints = known != value && value != NULL && PyLong_CheckExact(known) && PyLong_CheckExact(value);
        same = known == value || (ints && PyObject_RichCompareBool(known, value, Py_EQ) == 1);
    }
    return same;
}

/* `program.lines_of`; Python handles lines that equal the last ones without being the same. */
static Outcome twin_lines_of(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count < 1 || count > 2 || !are_nodes(args[0])) return TWIN;
    PyObject *last = count == 2 ? args[1] : Py_None;
    if (last != Py_None) {
        if (!PyTuple_CheckExact(last) || PyTuple_GET_SIZE(last) != 2) return TWIN;
        if (!is_column(PyTuple_GET_ITEM(last, 0), args[0], node_at.code) || !is_column(PyTuple_GET_ITEM(last, 1), args[0], node_at.offset)) return TWIN;
        *result = Py_NewRef(last);
        return DONE;
    }
    PyObject *codes = each(args[0], node_at.code), *offsets = codes != NULL ? each(args[0], node_at.offset) : NULL;
    if (offsets != NULL) *result = PyTuple_Pack(2, codes, offsets);
    Py_XDECREF(codes);
    Py_XDECREF(offsets);
    return *result != NULL ? DONE : PyErr_Occurred() ? FAILED : TWIN;
}

/* `tensor.tensors` */
static Outcome twin_tensors(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 1 || !are_nodes(args[0])) return TWIN;
    PyObject *made = PyList_New(0);
    if (made == NULL) return FAILED;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *node = Py_NewRef(PyList_GET_ITEM(args[0], i)), *tensor = new_tensor(node);
        Py_DECREF(node);
        int failed = tensor == NULL || PyList_Append(made, tensor) < 0;
        Py_XDECREF(tensor);
        if (failed) {
            Py_DECREF(made);
            return FAILED;
        }
    }
    *result = made;
    return DONE;
}

/* ------------------------------------------------------------------------------------------------------------------
   Calls of traced functions */

static int are_sequences(PyObject *first, PyObject *second) {
    return (PyList_CheckExact(first) || PyTuple_CheckExact(first)) && (PyList_CheckExact(second) || PyTuple_CheckExact(second));
}

/* `program.leaves` */
static Outcome twin_leaves(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2 || !are_sequences(args[0], args[1]) || PySequence_Fast_GET_SIZE(args[0]) != PySequence_Fast_GET_SIZE(args[1])) return TWIN;
    PyObject *made = PyList_New(0);
    if (made == NULL) return FAILED;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(args[0]) && i < PySequence_Fast_GET_SIZE(args[1]); i++) {
        PyObject *leaf = new_node(Py_None, PySequence_Fast_GET_ITEM(args[0], i), Py_None, zero);
        if (leaf == NULL || PyList_Append(made, leaf) < 0) {
            Py_XDECREF(leaf);
            Py_DECREF(made);
            return FAILED;
        }
        put(leaf, node_at.value, PySequence_Fast_GET_ITEM(args[1], i));
        SLOT(leaf, node_at.key) = Py_NewRef(leaf_key);
        SLOT(leaf, node_at.index) = Py_NewRef(minus_one);
        SLOT(leaf, node_at.trace) = Py_NewRef(Py_None);
        Py_DECREF(leaf);
    }
    *result = made;
    return DONE;
}

/* `variable.still_hold` */
static Outcome twin_still_hold(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 3 || !are_sequences(args[0], args[1]) || !are_sequences(args[2], args[2])) return TWIN;
    int same = 1;
    for (Py_ssize_t i = 0; same && i < PySequence_Fast_GET_SIZE(args[2]); i++) {
        PyObject *position = PySequence_Fast_GET_ITEM(args[2], i);
        Py_ssize_t at = PyLong_CheckExact(position) ? PyLong_AsSsize_t(position) : -1;
        if (at == -1) PyErr_Clear();
        if (at < 0 || at >= PySequence_Fast_GET_SIZE(args[0]) || at >= PySequence_Fast_GET_SIZE(args[1])) return TWIN;
        PyObject *variable = PySequence_Fast_GET_ITEM(args[0], at);
        if (!Py_IS_TYPE(variable, ResourceVariable)) return TWIN;
        PyObject *held = PyObject_GetAttr(variable, n_tensor);
        if (held == NULL) return FAILED;
        same = held == PySequence_Fast_GET_ITEM(args[1], at);
        Py_DECREF(held);
    }
    *result = PyBool_FromLong(same);
    return DONE;
}

/* Whether the next of the objects held, at a place that moves on, is this one. */
static int is_next(PyObject *held, Py_ssize_t *at, PyObject *value) {
    return *at < PyList_GET_SIZE(held) && PyList_GET_ITEM(held, (*at)++) == value;
}

/* `replayed.all_hold` */
static Outcome twin_all_hold(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1])) return TWIN;
    PyObject *held = args[1], *value;
    Py_ssize_t at = 0;
    int same = 1;
    for (Py_ssize_t i = 0; same && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *part = PyList_GET_ITEM(args[0], i);
        Py_ssize_t place = 0;
        if (PyDict_Check(part)) {
            while (same && PyDict_Next(part, &place, NULL, &value)) same = is_next(held, &at, value);
        } else if (PyList_Check(part)) {
            for (; same && place < PyList_GET_SIZE(part); place++) same = is_next(held, &at, PyList_GET_ITEM(part, place));
        } else {
            PyObject *left = PyObject_GetIter(part);
            if (left == NULL) return FAILED;
            for (; same && (value = PyIter_Next(left)) != NULL; Py_DECREF(value)) same = is_next(held, &at, value);
            Py_DECREF(left);
            if (PyErr_Occurred()) return FAILED;
        }
    }
    *result = PyBool_FromLong(same && at == PyList_GET_SIZE(held));
    return DONE;
}

/* `variable.put_all`; old values are released at the end, so that no Python code runs in between. */
static Outcome twin_put_all(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2 || !are_sequences(args[0], args[0]) || !are_nodes(args[1])) return TWIN;
    Py_ssize_t variables = PySequence_Fast_GET_SIZE(args[0]);
    if (PyList_GET_SIZE(args[1]) < variables) return TWIN;
    PyObject *made = PyTuple_New(variables), *before = PyTuple_New(variables);
    Outcome outcome = FAILED;
    if (made == NULL || before == NULL) goto done;
    for (Py_ssize_t i = 0; i < variables; i++) {
        PyObject *variable = PySequence_Fast_GET_ITEM(args[0], i), *tensor = EagerTensor->tp_alloc(EagerTensor, 0), *held;
        if (tensor == NULL) goto done;
        PyTuple_SET_ITEM(made, i, tensor);
        outcome = TWIN;
        if (!Py_IS_TYPE(variable, ResourceVariable) || i >= PyList_GET_SIZE(args[1])) goto done;
        outcome = FAILED;
        SLOT(tensor, tensor_node) = Py_NewRef(PyList_GET_ITEM(args[1], i));
        if ((held = PyObject_GetAttr(variable, n_tensor)) == NULL) goto done;
        PyTuple_SET_ITEM(before, i, held);
    }
    for (Py_ssize_t i = 0; i < variables; i++)
        if (PyObject_SetAttr(PySequence_Fast_GET_ITEM(args[0], i), n_tensor, PyTuple_GET_ITEM(made, i)) < 0) goto done;
    *result = Py_NewRef(Py_None);
    outcome = DONE;
done:
    Py_XDECREF(made);
    Py_XDECREF(before);
    return outcome;
}

/* Return the leaf at a position; NULL without an error if there is none. */
static PyObject *leaf_at(PyObject *leaves, PyObject *position) {
    Py_ssize_t at = PyLong_CheckExact(position) ? PyLong_AsSsize_t(position) : -1;
    if (at == -1) PyErr_Clear();
    return at >= 0 && at < PyList_GET_SIZE(leaves) ? PyList_GET_ITEM(leaves, at) : NULL;
}

/* Return whether a node is a leaf, which no op computes. */
static int is_leaf(PyObject *node) {
    PyObject *key = SLOT(node, node_at.key);
    return key == NULL || !PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) == 0 || PyTuple_GET_ITEM(key, 0) == Py_None;
}

/* Return whether a node's Tensor may still be held. */
static int is_held(PyObject *node) {
    PyObject *handle = SLOT(node, node_at.handle);
    return handle != Py_None && !(handle != NULL && handle != wanted && PyWeakref_CheckRef(handle) && !alive(handle));
}

/* `slices.arguments`. Leaves of the user with NumPy arrays are left to Python, and so are values that compiled code reads while they are held. */
static Outcome twin_arguments(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 3 || !are_nodes(args[0]) || !PyTuple_CheckExact(args[1])) return TWIN;
    Py_ssize_t wanted_leaves = PyTuple_GET_SIZE(args[1]);
    PyObject *values = PyList_New(wanted_leaves);
    if (values == NULL) return FAILED;
    for (Py_ssize_t i = 0; i < wanted_leaves; i++) {
        PyObject *leaf = leaf_at(args[0], PyTuple_GET_ITEM(args[1], i)), *value = leaf != NULL ? SLOT(leaf, node_at.value) : NULL;
        if (value == NULL || (Py_IS_TYPE(value, Array) && (is_leaf(leaf) || (args[2] != Py_False && is_held(leaf))))) {
            Py_DECREF(values);
            return TWIN;
        }
        PyList_SET_ITEM(values, i, Py_NewRef(value));
    }
    *result = values;
    return DONE;
}

/* `program.are_one` */
static Outcome twin_are_one(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyTuple_CheckExact(args[1])) return TWIN;
    int one = 1;
    for (Py_ssize_t i = 0; one && i < PyTuple_GET_SIZE(args[1]); i++) {
        PyObject *pair = PyTuple_GET_ITEM(args[1], i);
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) return TWIN;
        PyObject *leaf = leaf_at(args[0], PyTuple_GET_ITEM(pair, 0)), *stands = leaf_at(args[0], PyTuple_GET_ITEM(pair, 1));
        if (leaf == NULL || stands == NULL) return TWIN;
        one = leaf == stands;
    }
    *result = PyBool_FromLong(one);
    return DONE;
}

/* `slices.live_in` */
static Outcome twin_live_in(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 1 || !are_nodes(args[0])) return TWIN;
    PyObject *live = PyList_New(0);
    if (live == NULL) return FAILED;
    Outcome outcome = DONE;
    for (Py_ssize_t i = 0; outcome == DONE && i < PyList_GET_SIZE(args[0]); i++) {
        PyObject *node = PyList_GET_ITEM(args[0], i);
        int found = is_live(node);
        if (found < 0 || (found && SLOT(node, node_at.index) == NULL)) outcome = TWIN;
        else if (found && PyList_Append(live, SLOT(node, node_at.index)) < 0) outcome = FAILED;
    }
    if (outcome == DONE) *result = live;
    else Py_DECREF(live);
    return outcome;
}

/* Return whether two keys of nodes are equal; also 0 if only Python can tell. It runs no Python code. */
static int are_equal_keys(PyObject *key, PyObject *other) {
    if (key == other) return 1;
    if (key == NULL || !PyTuple_CheckExact(key) || !PyTuple_CheckExact(other) || PyTuple_GET_SIZE(key) != PyTuple_GET_SIZE(other)) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        PyObject *x = PyTuple_GET_ITEM(key, i), *y = PyTuple_GET_ITEM(other, i);
        if (x == y) continue;
        if (!Py_IS_TYPE(y, Py_TYPE(x))) return 0;
        if (PyTuple_CheckExact(x)) { /* the attributes, and nested tuples */
            if (!are_equal_keys(x, y)) return 0;
        } else if (!(PyLong_CheckExact(x) || PyFloat_CheckExact(x) || PyUnicode_CheckExact(x)) || PyObject_RichCompareBool(x, y, Py_EQ) != 1) {
            return 0;
        }
    }
    return 1;
}

/* `program.structure_of` for a trace that starts and continues like the last one from this line: (trace, nodes, leaves) → Structure. */
static Outcome twin_structure_of(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 3 || !is(args[0], Trace) || !is_whole(args[0]) || !PyLong_CheckExact(args[1]) || !PyLong_CheckExact(args[2])) return TWIN;
    PyObject *nodes = SLOT(args[0], trace_at.nodes), *leaves = SLOT(args[0], trace_at.leaves);
    Py_ssize_t wanted_nodes = PyLong_AsSsize_t(args[1]), wanted_leaves = PyLong_AsSsize_t(args[2]);
    if (wanted_nodes < 1 || wanted_leaves < 0 || wanted_nodes > PyList_GET_SIZE(nodes) || wanted_leaves > PyList_GET_SIZE(leaves)) return TWIN;
    if (!are_nodes(nodes) || !are_nodes(leaves)) return TWIN;
    PyObject *first = PyList_GET_ITEM(nodes, 0);
    PyObject *code = PyLong_FromVoidPtr(SLOT(first, node_at.code)), *where = NULL;
    if (code == NULL || SLOT(first, node_at.offset) == NULL) goto failed;
    if ((where = PyTuple_Pack(4, code, SLOT(first, node_at.offset), args[1], args[2])) == NULL) goto failed;
    PyObject *found = Py_XNewRef(PyDict_GetItemWithError(guesses, where));
    Py_DECREF(where);
    Py_DECREF(code);
    if (found == NULL) return PyErr_Occurred() ? FAILED : TWIN;
    PyObject *keys = is(found, Structure) ? SLOT(found, structure_at.keys) : NULL, *avals = keys != NULL ? SLOT(found, structure_at.avals) : NULL;
    int same = avals != NULL && PyTuple_GET_SIZE(keys) == wanted_nodes && PyTuple_GET_SIZE(avals) == wanted_leaves;
    same = same && wanted_nodes <= PyList_GET_SIZE(nodes) && wanted_leaves <= PyList_GET_SIZE(leaves);
    for (Py_ssize_t i = 0; same && i < wanted_nodes; i++)
        same = are_equal_keys(SLOT(PyList_GET_ITEM(nodes, i), node_at.key), PyTuple_GET_ITEM(keys, i));
    for (Py_ssize_t i = 0; same && i < wanted_leaves; i++)
        same = SLOT(PyList_GET_ITEM(leaves, i), node_at.aval) == PyTuple_GET_ITEM(avals, i);
    if (same) *result = found;
    else Py_DECREF(found);
    return same ? DONE : TWIN;
failed:
    Py_XDECREF(code);
    return PyErr_Occurred() ? FAILED : TWIN;
}

/* ------------------------------------------------------------------------------------------------------------------
   Gradient plans */

/* Append the place of a node in a tape's only trace, like `plan.Places.find` and `program.Trace.reference`. */
static int append_place(PyObject *found, PyObject *trace, PyObject *node) {
    PyObject *index = SLOT(node, node_at.index), *nodes = SLOT(trace, trace_at.nodes), *place = NULL;
    Py_ssize_t at = index != NULL ? PyLong_AsSsize_t(index) : -1;
    if (at == -1 && PyErr_Occurred()) return -1;
    if (at >= 0 && at < PyList_GET_SIZE(nodes) && PyList_GET_ITEM(nodes, at) == node) place = index;
    else place = PyDict_GetItemWithError(SLOT(trace, trace_at.leaf_index), node);
    if (place == NULL && PyErr_Occurred()) return -1;
    return PyList_Append(found, place != NULL ? zero : Py_None) < 0 ? -1 : PyList_Append(found, place != NULL ? place : Py_None);
}

/* Append the numbers of a variable's reads: `read.get(id(source), ())` in `plan.sought`. */
static int append_reads(PyObject *found, PyObject *reads, PyObject *variable) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(reads); i++) {
        if (PyTuple_GET_ITEM(PyList_GET_ITEM(reads, i), 2) != variable) continue;
        PyObject *number = PyLong_FromSsize_t(i);
        int failed = number == NULL || PyList_Append(found, number) < 0;
        Py_XDECREF(number);
        if (failed) return -1;
    }
    return 0;
}

/* `plan.sought` for a tape with one trace, and with few reads; for many, Python's table is faster. */
static Outcome twin_sought(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 3 || !PyList_CheckExact(args[1]) || !are_sequences(args[2], args[2])) return TWIN;
    Py_ssize_t reads = PyList_GET_SIZE(args[1]), sources = PySequence_Fast_GET_SIZE(args[2]);
    if (sources > 0 && reads > 10000 / sources) return TWIN;
    PyObject *traces = PyObject_GetAttr(args[0], n_traces), *found = PyList_New(0), *trace = NULL, *number = PyLong_FromSsize_t(reads);
    Outcome outcome = FAILED;
    if (traces == NULL || found == NULL || number == NULL || PyList_Append(found, number) < 0) goto done;
    outcome = TWIN;
    if (!PyList_CheckExact(traces) || PyList_GET_SIZE(traces) != 1) goto done;
    trace = Py_NewRef(PyList_GET_ITEM(traces, 0));
    if (!is(trace, Trace) || !is_whole(trace)) goto done;
    for (Py_ssize_t i = 0; i < reads; i++) {
        PyObject *read = PyList_GET_ITEM(args[1], i);
        outcome = TWIN;
        if (!PyTuple_CheckExact(read) || PyTuple_GET_SIZE(read) != 4 || !Py_IS_TYPE(PyTuple_GET_ITEM(read, 3), Node)) goto done;
        outcome = FAILED;
        if (PyList_Append(found, PyTuple_GET_ITEM(read, 0)) < 0 || PyList_Append(found, PyTuple_GET_ITEM(read, 1)) < 0) goto done;
        if (append_place(found, trace, PyTuple_GET_ITEM(read, 3)) < 0) goto done;
    }
    for (Py_ssize_t i = 0; i < sources; i++) {
        PyObject *source = PySequence_Fast_GET_ITEM(args[2], i), *node = is_tensor(source) ? node_of(source) : NULL;
        outcome = TWIN;
        if (node == NULL && !Py_IS_TYPE(source, ResourceVariable)) goto done;
        outcome = FAILED;
        if (node != NULL && (PyList_Append(found, minus_one) < 0 || append_place(found, trace, node) < 0)) goto done;
        if ((node == NULL && append_reads(found, args[1], source) < 0) || PyList_Append(found, Py_None) < 0) goto done;
    }
    if ((*result = PyList_AsTuple(found)) != NULL) outcome = DONE;
done:
    Py_XDECREF(traces);
    Py_XDECREF(found);
    Py_XDECREF(trace);
    Py_XDECREF(number);
    return outcome;
}

/* `plan.picked`: (traces, places) → the nodes at these places. */
static Outcome twin_picked(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1])) return TWIN;
    Py_ssize_t places = PyList_GET_SIZE(args[1]);
    PyObject *found = PyList_New(places);
    if (found == NULL) return FAILED;
    for (Py_ssize_t i = 0; i < places; i++) {
        PyObject *place = i < PyList_GET_SIZE(args[1]) ? PyList_GET_ITEM(args[1], i) : NULL;
        if (place == NULL || !PyTuple_CheckExact(place) || PyTuple_GET_SIZE(place) != 2) goto twin;
        Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 0)), at = PyLong_AsSsize_t(PyTuple_GET_ITEM(place, 1));
        PyObject *trace = number >= 0 && number < PyList_GET_SIZE(args[0]) ? PyList_GET_ITEM(args[0], number) : NULL;
        if (!is(trace, Trace) || !is_whole(trace)) goto twin;
        PyObject *nodes = SLOT(trace, at >= 0 ? trace_at.nodes : trace_at.leaves);
        if (at < 0) at = -1 - at;
        if (at >= PyList_GET_SIZE(nodes)) goto twin;
        PyList_SET_ITEM(found, i, Py_NewRef(PyList_GET_ITEM(nodes, at)));
    }
    *result = found;
    return DONE;
twin: /* raises if there is an error */
    PyErr_Clear();
    Py_DECREF(found);
    return TWIN;
}

/* ------------------------------------------------------------------------------------------------------------------
   Values that leave the library */

/* Return the user's line in the main thread (a new reference), and note it for threads of packages: `journal.user_line`. */
static Outcome line_here(PyObject **line) {
    PyObject *code;
    int offset;
    if (PyThread_get_thread_ident() != main_thread) return TWIN;
    Outcome outcome = user_line(others, 0, &code, &offset);
    if (outcome != DONE) return outcome;
    PyObject *number = PyLong_FromLong(offset);
    *line = number == NULL ? NULL : PyTuple_Pack(2, code, number);
    Py_DECREF(code);
    Py_XDECREF(number);
    if (*line != NULL && PyDict_SetItem(journal_names, n_latest, *line) == 0) return DONE;
    Py_CLEAR(*line);
    return FAILED;
}

/* `journal.user_line`; the frames skipped by `depth` are not the user's. Python finds the statement around a comprehension. */
static Outcome twin_user_line(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    Outcome outcome = line_here(result);
    if (outcome != DONE || count < 2 || args[1] != Py_True) return outcome;
    PyObject *known = PyDict_GetItemWithError(journal_names, n_comprehensions);
    int found = known == NULL ? -1 : PySequence_Contains(known, ((PyCodeObject *)PyTuple_GET_ITEM(*result, 0))->co_name);
    if (found == 0) return DONE;
    Py_CLEAR(*result);
    return found < 0 ? FAILED : TWIN;
}

/* `journal.left`, in the main thread: (how, node, trace) → None. */
static Outcome twin_left(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 3 || !Py_IS_TYPE(args[1], Node) || !is(args[2], Trace) || !is_whole(args[2])) return TWIN;
    PyObject *origin = SLOT(args[1], node_at.origin), *line = NULL;
    if (origin == NULL || origin == Py_None) return TWIN;
    Outcome outcome = line_here(&line);
    if (outcome != DONE) return outcome;
    PyObject *number = PyIter_Next(journal_serial), *length = PyLong_FromSsize_t(PyList_GET_SIZE(SLOT(args[2], trace_at.nodes)));
    PyObject *at = number == NULL || length == NULL ? NULL : PyTuple_Pack(2, SLOT(args[2], trace_at.serial), length);
    PyObject *noted = at == NULL ? NULL : ((PyTypeObject *)Left)->tp_alloc((PyTypeObject *)Left, 5), *done = NULL;
    if (noted != NULL) {
        PyObject *parts[] = {Py_XNewRef(number), Py_NewRef(args[0]), Py_NewRef(origin), Py_XNewRef(line), Py_XNewRef(at)};
        for (int i = 0; i < 5; i++) PyTuple_SET_ITEM(noted, i, parts[i]);
        done = PyObject_CallMethodOneArg(exits, n_append, noted);
    }
    if (done != NULL) *result = Py_NewRef(Py_None);
    else outcome = FAILED;
    Py_XDECREF(number);
    Py_XDECREF(length);
    Py_XDECREF(at);
    Py_XDECREF(line);
    Py_XDECREF(noted);
    Py_XDECREF(done);
    return outcome;
}

/* Return a read-only view of an array, like the end of `Tensor.__array__`. */
static PyObject *read_only(PyObject *array) {
    PyObject *view = PyObject_CallMethodNoArgs(array, n_view), *flags = NULL, *writeable = NULL;
    if (view == NULL || (flags = PyObject_GetAttr(view, n_flags)) == NULL) goto failed;
    if ((writeable = PyObject_GetAttr(flags, n_writeable)) == NULL) goto failed;
    if (writeable != Py_False && PyObject_SetAttr(flags, n_writeable, Py_False) < 0) goto failed;
    goto done;
failed:
    Py_CLEAR(view);
done:
    Py_XDECREF(flags);
    Py_XDECREF(writeable);
    return view;
}

/* `Tensor.__array__` without arguments, for a tensor with a value. */
static Outcome twin_array(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    PyObject *node = count == 1 && is_tensor(args[0]) ? node_of(args[0]) : NULL;
    if (node == NULL || SLOT(node, node_at.trace) != Py_None || is_none(SLOT(node, node_at.value))) return TWIN;
    int graphs = graphs_are_open();
    if (graphs != 0) return graphs < 0 ? FAILED : TWIN;
    Py_INCREF(node);
    PyObject *value = Py_NewRef(SLOT(node, node_at.value)), *trace = NULL, *noted = NULL;
    Outcome outcome = FAILED;
    if (!Py_IS_TYPE(value, Array)) Py_SETREF(value, PyObject_CallOneArg(as_array, value)); /* waits for it */
    if (value == NULL) {
        if (PyErr_ExceptionMatches(PyExc_Exception)) { /* Python translates the run's error */
            PyErr_Clear();
            outcome = TWIN;
        }
        goto done;
    }
    if ((trace = PyObject_GetAttr(local, n_trace)) == NULL) goto done;
    outcome = twin_left(self, (PyObject *[]){n_array, node, trace}, 3, &noted);
    if (outcome == TWIN && (noted = PyObject_CallFunctionObjArgs(left, n_array, node, trace, NULL)) == NULL) outcome = FAILED;
    if (outcome == FAILED) goto done;
    outcome = FAILED;
    if ((*result = read_only(value)) != NULL) outcome = DONE;
done:
    Py_DECREF(node);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    Py_XDECREF(noted);
    return outcome;
}

/* ------------------------------------------------------------------------------------------------------------------
   Ops on NumPy */

/* `array.flags.writeable = False`, of an array whose elements lie in order: else of a copy. Takes a reference over, and gives one. */
static PyObject *freeze(PyObject *array) {
    PyObject *flags = PyObject_GetAttr(array, n_flags), *in_order = flags != NULL ? PyObject_GetAttr(flags, n_contiguous) : NULL;
    if (in_order == NULL) goto failed;
    if (in_order != Py_True) {
        Py_SETREF(array, PyObject_CallMethodNoArgs(array, n_copy));
        if (array == NULL) goto failed;
        Py_SETREF(flags, PyObject_GetAttr(array, n_flags));
        if (flags == NULL) goto failed;
    }
    if (PyObject_SetAttr(flags, n_writeable, Py_False) < 0) goto failed;
    goto done;
failed:
    Py_CLEAR(array);
done:
    Py_XDECREF(flags);
    Py_XDECREF(in_order);
    return array;
}

/* `arrays._frozen` */
static PyObject *frozen(PyObject *value, PyObject *aval) {
    PyObject *wanted_dtype = is(aval, Aval) ? SLOT(aval, aval_at.dtype) : NULL;
    if (wanted_dtype == NULL) return PyErr_Format(PyExc_TypeError, "an Aval is missing");
    if (Py_IS_TYPE(value, Array)) {
        PyObject *dtype = PyObject_GetAttr(value, n_dtype);
        if (dtype == NULL) return NULL;
        Py_DECREF(dtype);
        if (dtype == wanted_dtype) return freeze(Py_NewRef(value));
    }
    PyObject *array = PyObject_CallFunctionObjArgs(as_array, value, wanted_dtype, NULL);
    return array == NULL ? NULL : freeze(array);
}

/* What a kernel gave, as values of one Aval or several. */
static PyObject *all_frozen(PyObject *result, PyObject *avals) {
    if (!PyTuple_CheckExact(avals)) return frozen(result, avals);
    PyObject *given = PySequence_Tuple(result);
    if (given == NULL) return NULL;
    Py_ssize_t count = Py_MIN(PyTuple_GET_SIZE(given), PyTuple_GET_SIZE(avals));
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *array = frozen(PyTuple_GET_ITEM(given, i), PyTuple_GET_ITEM(avals, i));
        if (array == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, array);
    }
    Py_DECREF(given);
    return made;
}

/* `arrays.given` */
static PyObject *given_array(PyObject *value) {
    PyObject *array = Py_IS_TYPE(value, Array) ? Py_NewRef(value) : PyObject_CallOneArg(as_array, value);
    PyObject *flags = array != NULL ? PyObject_GetAttr(array, n_flags) : NULL;
    PyObject *writeable = flags != NULL ? PyObject_GetAttr(flags, n_writeable) : NULL;
    if (writeable == NULL) Py_CLEAR(array);
    else if (writeable != Py_False) Py_SETREF(array, read_only(array));
    Py_XDECREF(flags);
    Py_XDECREF(writeable);
    return array;
}

/* The input of a node that runs on NumPy, a new reference: a value, which is frozen from `first` on, or a leaf, kept in `given`. */
static PyObject *host_input(PyObject *reference, Py_ssize_t first, PyObject *values, PyObject *leaves, PyObject *given) {
    Py_ssize_t r = PyLong_AsSsize_t(reference);
    if (r == -1 && PyErr_Occurred()) return NULL;
    if (r >= PyList_GET_SIZE(values) || -1 - r >= PyTuple_GET_SIZE(leaves)) return PyErr_Format(PyExc_IndexError, "no value %zd", r);
    if (r >= first) return Py_NewRef(PyList_GET_ITEM(values, r));
    if (r >= 0) return given_array(PyList_GET_ITEM(values, r));
    PyObject *known = PyList_GET_ITEM(given, -1 - r);
    if (known != Py_None) return Py_NewRef(known);
    PyObject *array = given_array(PyTuple_GET_ITEM(leaves, -1 - r));
    if (array != NULL) PyList_SetItem(given, -1 - r, Py_NewRef(array));
    return array;
}

enum { MOST_INPUTS = 32 };

/* One node of `execution.run_hosted`: its value, or NULL with an error. */
static PyObject *hosted_value(PyObject *key, PyObject *avals, Py_ssize_t first, PyObject *values, PyObject *leaves, PyObject *given) {
    PyObject *op = PyTuple_GET_ITEM(key, 0), *attrs = PyTuple_GET_ITEM(key, 1), *stack[MOST_INPUTS], *result = NULL;
    PyObject *kernel = SLOT(op, op_at.kernel), *names = SLOT(op, op_at.attributes);
    Py_ssize_t inputs = PyTuple_GET_SIZE(key) - 2, count = PyTuple_GET_SIZE(attrs), taken = 0;
    for (; taken < inputs; taken++)
        if ((stack[taken] = host_input(PyTuple_GET_ITEM(key, 2 + taken), first, values, leaves, given)) == NULL) goto done;
    for (; taken < inputs + count; taken++) stack[taken] = Py_NewRef(PyTuple_GET_ITEM(attrs, taken - inputs));
    Py_INCREF(kernel);
    result = PyObject_Vectorcall(kernel, stack, inputs, count > 0 ? names : NULL);
    Py_DECREF(kernel);
    if (result != NULL) Py_SETREF(result, all_frozen(result, avals));
done:
    for (Py_ssize_t i = 0; i < taken; i++) Py_DECREF(stack[i]);
    return result;
}

/* Whether the parts of a node are such as `hosted_value` takes. */
static int can_be_run(PyObject *key) {
    if (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) < 2 || !is(PyTuple_GET_ITEM(key, 0), Op)) return 0;
    PyObject *op = PyTuple_GET_ITEM(key, 0), *attrs = PyTuple_GET_ITEM(key, 1), *names = SLOT(op, op_at.attributes);
    if (SLOT(op, op_at.kernel) == NULL || names == NULL || !PyTuple_CheckExact(names) || !PyTuple_CheckExact(attrs)) return 0;
    Py_ssize_t count = PyTuple_GET_SIZE(attrs);
    return (count == 0 || count == PyTuple_GET_SIZE(names)) && PyTuple_GET_SIZE(key) - 2 + count <= MOST_INPUTS;
}

/* The memory of arrays. The C library gives large blocks back to the system, and the system clears each page of a new one: that takes
   longer than an op on it. So freed blocks are kept here for the next ops, up to KEPT bytes. NumPy calls this with the global lock held. */

enum { SMALLEST = 1 << 15, LARGEST = 1 << 22, BINS = 30, NO_BIN = BINS, KEPT = 1 << 25 };

typedef struct Block { /* before the bytes of an array; as large as the alignment that NumPy expects */
    union {
        size_t size;
        struct Block *next; /* while it is kept */
    } is;
    size_t bin;
} Block;

typedef struct { /* `PyDataMem_Handler` of NumPy's C API */
    char name[127];
    uint8_t version;
    struct {
        void *ctx;
        void *(*malloc)(void *, size_t);
        void *(*calloc)(void *, size_t, size_t);
        void *(*realloc)(void *, void *, size_t);
        void (*free)(void *, void *, size_t);
    } allocator;
} Handler;

static Handler *numpys;   /* NumPy's own */
static PyObject *keeping; /* the capsule of ours, or NULL */
static PyObject *(*set_handler)(PyObject *);
static Block *bins[BINS];
static size_t kept;

/* Four bins for each power of two: the sizes up to which a bin serves are 5/4, 6/4, 7/4 and 8/4 of it. */
static size_t bin_of(size_t size) {
    if (size <= SMALLEST || size > LARGEST) return NO_BIN;
    size_t bin = 0, power = SMALLEST;
    for (; size > 2 * power; power *= 2) bin += 4;
    return bin + (size - power - 1) / (power / 4);
}

static size_t size_of(size_t bin) { return ((size_t)SMALLEST << bin / 4) / 4 * (5 + bin % 4); }

static void *take(void *ctx, size_t size) {
    if (size > PY_SSIZE_T_MAX - sizeof(Block)) return NULL;
    size_t bin = bin_of(size);
    Block *block = bin < BINS ? bins[bin] : NULL;
    if (block != NULL) {
        bins[bin] = block->is.next;
        kept -= size_of(bin);
    } else if (bin < BINS) {
        block = malloc(sizeof(Block) + size_of(bin));
    } else {
        block = numpys->allocator.malloc(numpys->allocator.ctx, sizeof(Block) + size);
    }
    if (block == NULL) return NULL;
    block->bin = bin;
    block->is.size = bin < BINS ? size_of(bin) : size;
    return block + 1;
}

static void *take_cleared(void *ctx, size_t count, size_t each) {
    if (each != 0 && count > (PY_SSIZE_T_MAX - sizeof(Block)) / each) return NULL;
    size_t size = count * each, bin = bin_of(size);
    if (bin < BINS) {
        void *found = take(ctx, size);
        return found == NULL ? NULL : memset(found, 0, size);
    }
    Block *block = numpys->allocator.calloc(numpys->allocator.ctx, 1, sizeof(Block) + size);
    if (block == NULL) return NULL;
    block->bin = NO_BIN;
    block->is.size = size;
    return block + 1;
}

static void give(void *ctx, void *bytes, size_t size) {
    if (bytes == NULL) return;
    Block *block = (Block *)bytes - 1;
    if (block->bin == NO_BIN) {
        numpys->allocator.free(numpys->allocator.ctx, block, sizeof(Block) + block->is.size);
        return;
    }
    size_t more = size_of(block->bin);
    for (size_t bin = 0; kept + more > KEPT && bin < BINS; bin++) {
        for (Block *old; (old = bins[bin]) != NULL; free(old)) {
            bins[bin] = old->is.next;
            kept -= size_of(bin);
        }
    }
    block->is.next = bins[block->bin];
    bins[block->bin] = block;
    kept += more;
}

static void *take_again(void *ctx, void *bytes, size_t size) {
    if (bytes == NULL) return take(ctx, size);
    size_t had = ((Block *)bytes - 1)->is.size;
    void *more = take(ctx, size);
    if (more != NULL) {
        memcpy(more, bytes, had < size ? had : size);
        give(ctx, bytes, had);
    }
    return more;
}

static Handler ours = {"gradtape", 1, {NULL, take, take_cleared, take_again, give}};

/* Find the functions for handlers in NumPy's C API, whose table only grows; without them the C library gives the memory. */
static int find_handlers(void) {
    PyObject *numpy = PyImport_ImportModule("numpy._core._multiarray_umath"), *table = NULL, *capsule = NULL;
    if (numpy == NULL || (table = PyObject_GetAttrString(numpy, "_ARRAY_API")) == NULL) goto done;
    void **api = PyCapsule_GetPointer(table, NULL);
    if (api == NULL || ((unsigned (*)(void))api[0])() != 0x02000000) goto done; /* PyArray_GetNDArrayCVersion: NumPy 2 */
    set_handler = api[304];                                                        /* PyDataMem_SetHandler */
    capsule = Py_XNewRef(*(PyObject **)api[306]);                                  /* PyDataMem_DefaultHandler */
    if (capsule == NULL || (numpys = PyCapsule_GetPointer(capsule, "mem_handler")) == NULL) goto done;
    keeping = PyCapsule_New(&ours, "mem_handler", NULL);
done:
    Py_XDECREF(numpy);
    Py_XDECREF(table);
    Py_XDECREF(capsule);
    if (keeping == NULL && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
    return PyErr_Occurred() ? -1 : 0;
}

/* Replace the values at these places by None. */
static int drop(PyObject *values, PyObject *places) {
    if (!PyTuple_CheckExact(places)) return PyErr_Format(PyExc_TypeError, "no places of values"), -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, i));
        if (PyList_SetItem(values, place, Py_NewRef(Py_None)) < 0) return -1; /* also for one that is no place */
    }
    return 0;
}

static Outcome run_from(
    Py_ssize_t first, Py_ssize_t stop, PyObject *keys, PyObject *avals, PyObject *hosted, PyObject *ends, PyObject *values, PyObject *leaves,
    PyObject *given) {
    for (Py_ssize_t i = first; i < stop; i++) {
        PyObject *key = PyTuple_GET_ITEM(keys, i);
        int ours = can_be_run(key);
        if (i == first && !ours) return TWIN;
        PyObject *guards = ours ? SLOT(PyTuple_GET_ITEM(key, 0), op_at.guards) : NULL;
        if (i > first && (PyTuple_GET_ITEM(hosted, i) != Py_True || guards == NULL || PyObject_IsTrue(guards) != 0)) break;
        PyObject *value = hosted_value(key, PyTuple_GET_ITEM(avals, i), first, values, leaves, given);
        if (value == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_Clear();
            return TWIN;
        }
        if (value == NULL) return FAILED;
        int failed = PyList_Append(values, value) < 0;
        Py_DECREF(value);
        if (failed || (PyTuple_GET_SIZE(ends) != 0 && drop(values, PyTuple_GET_ITEM(ends, i)) < 0)) return FAILED;
    }
    return DONE;
}

/* `execution.run_hosted`. What has a value by then is not run again by Python, which meets the error of a kernel anew. */
static Outcome twin_run_hosted(Twin *self, PyObject *const *args, Py_ssize_t count, PyObject **result) {
    if (count != 8 || !PyTuple_CheckExact(args[0]) || !PyTuple_CheckExact(args[1]) || !PyTuple_CheckExact(args[2])) return TWIN;
    PyObject *keys = args[0], *avals = args[1], *hosted = args[2], *ends = args[3], *values = args[4], *leaves = args[5], *given = args[6];
    if (!PyTuple_CheckExact(ends) || !PyList_CheckExact(values) || !PyTuple_CheckExact(leaves) || !PyList_CheckExact(given)) return TWIN;
    if (!PyLong_CheckExact(args[7]) || PyTuple_GET_SIZE(leaves) != PyList_GET_SIZE(given)) return TWIN;
    Py_ssize_t first = PyList_GET_SIZE(values), stop = PyLong_AsSsize_t(args[7]);
    if (stop < 0 || stop > PyTuple_GET_SIZE(keys) || stop > PyTuple_GET_SIZE(avals) || stop > PyTuple_GET_SIZE(hosted)) return TWIN;
    int drops = PyTuple_GET_SIZE(ends) != 0, keeps = drops && keeping != NULL;
    if (drops && stop > PyTuple_GET_SIZE(ends)) return TWIN;
    PyObject *before = keeps ? set_handler(keeping) : NULL;
    if (keeps && before == NULL) return FAILED;
    Outcome outcome = run_from(first, stop, keys, avals, hosted, ends, values, leaves, given);
    if (before != NULL) {
        PyObject *type, *error, *where;
        PyErr_Fetch(&type, &error, &where);
        Py_XDECREF(set_handler(before));
        Py_DECREF(before);
        PyErr_Restore(type, error, where);
    }
    if (outcome == DONE) *result = Py_NewRef(Py_None);
    return outcome;
}
/* ------------------------------------------------------------------------------------------------------------------
   The module */

static const struct {
    const char *name;
    Body body;
    int public;
} kinds[] = {
    {"record", twin_record, 0},             {"emit", twin_emit, 0},           {"elements", twin_elements, 0},
    {"unary", twin_unary, 1},               {"binary", twin_binary, 1},       {"forward", twin_forward, 1},
    {"reflected", twin_reflected, 1},       {"update", twin_update, 1},       {"public", twin_public, 1},
    {"live_in", twin_live_in, 0},           {"spared", twin_spared, 0},       {"lines_of", twin_lines_of, 0},
    {"structure_of", twin_structure_of, 0}, {"are_one", twin_are_one, 0},     {"arguments", twin_arguments, 0},
    {"leaves", twin_leaves, 0},             {"tensors", twin_tensors, 0},     {"still_hold", twin_still_hold, 0},
    {"put_all", twin_put_all, 0},           {"all_hold", twin_all_hold, 0},   {"sought", twin_sought, 0},
    {"picked", twin_picked, 0},             {"user_line", twin_user_line, 0}, {"left", twin_left, 0},
    {"array", twin_array, 1},               {"run_hosted", twin_run_hosted, 0},
};

static PyObject *twin_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"kind", "python", "op", "attrs", "rank", NULL};
    const char *kind;
    PyObject *python, *op = Py_None, *attrs = Py_None, *rank = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "sO|OOO", names, &kind, &python, &op, &attrs, &rank)) return NULL;
    long wanted_rank = rank == Py_None ? -1 : PyLong_AsLong(rank);
    if (wanted_rank == -1 && PyErr_Occurred()) return NULL;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(kinds); i++) {
        if (strcmp(kinds[i].name, kind) != 0) continue;
        Twin *self = (Twin *)type->tp_alloc(type, 0);
        if (self == NULL) return NULL;
        self->call = twin_call;
        self->body = kinds[i].body;
        self->public = kinds[i].public;
        self->python = Py_NewRef(python);
        self->op = Py_NewRef(op);
        self->attrs = Py_NewRef(attrs);
        self->rank = wanted_rank;
        return (PyObject *)self;
    }
    return PyErr_Format(PyExc_ValueError, "no function of %R is written in C", python);
}

static int twin_traverse(PyObject *object, visitproc visit, void *arg) {
    Twin *self = (Twin *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->python);
    Py_VISIT(self->op);
    Py_VISIT(self->attrs);
    Py_VISIT(self->names);
    Py_VISIT(self->latest.leaf);
    return 0;
}

static int twin_clear(PyObject *object) {
    Twin *self = (Twin *)object;
    Py_CLEAR(self->python);
    Py_CLEAR(self->op);
    Py_CLEAR(self->attrs);
    Py_CLEAR(self->names);
    PyObject **latest[] = {&self->latest.x, &self->latest.y, &self->latest.aval, &self->latest.number, &self->latest.dtype, &self->latest.leaf};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(latest); i++) Py_CLEAR(*latest[i]);
    return 0;
}

static void twin_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (((Twin *)object)->references != NULL) PyObject_ClearWeakRefs(object);
    twin_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *twin_get(PyObject *self, PyObject *instance, PyObject *owner) {
    return instance == NULL || instance == Py_None ? Py_NewRef(self) : PyMethod_New(self, instance);
}

static PyObject *twin_repr(PyObject *self) { return PyObject_Repr(((Twin *)self)->python); }

/* Pickle and copy it by name, like a function. */
static PyObject *twin_reduce(PyObject *self, PyObject *nothing_more) { return PyObject_GetAttrString(self, "__qualname__"); }

/* For `isinstance` and `inspect` it is the function for which it stands. */
static PyObject *twin_of_python(PyObject *self, void *name) { return PyObject_GetAttrString(((Twin *)self)->python, name); }

static PyMemberDef twin_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Twin, call), READONLY},
    {"__dictoffset__", T_PYSSIZET, offsetof(Twin, names), READONLY},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Twin, references), READONLY},
    {"python", T_OBJECT, offsetof(Twin, python), READONLY},
    {NULL},
};
static PyMethodDef twin_methods[] = {{"__reduce__", twin_reduce, METH_NOARGS, NULL}, {NULL}};
static PyGetSetDef twin_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"__class__", twin_of_python, NULL, NULL, "__class__"},
    {"__code__", twin_of_python, NULL, NULL, "__code__"},
    {"__closure__", twin_of_python, NULL, NULL, "__closure__"},
    {"__defaults__", twin_of_python, NULL, NULL, "__defaults__"},
    {"__globals__", twin_of_python, NULL, NULL, "__globals__"},
    {"__kwdefaults__", twin_of_python, NULL, NULL, "__kwdefaults__"},
    {NULL},
};
static PyType_Slot twin_slots[] = {
    {Py_tp_new, twin_new},           {Py_tp_traverse, twin_traverse}, {Py_tp_clear, twin_clear},     {Py_tp_dealloc, twin_dealloc},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_descr_get, twin_get},     {Py_tp_repr, twin_repr},       {Py_tp_members, twin_members},
    {Py_tp_methods, twin_methods},   {Py_tp_getset, twin_getset},     {0, NULL},
};
static PyType_Spec twin_spec = {
    .name = "gradtape._src.core.native.recording.Twin",
    .basicsize = sizeof(Twin),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .slots = twin_slots,
};

/* ------------------------------------------------------------------------------------------------------------------
   `arrays._Namespace` */

typedef struct {
    PyObject_HEAD
    PyObject *compiled, *host, *state;
} Namespace;

/* The name in the module of JAX's, or in its twin on NumPy while this thread computes on the host. */
static PyObject *namespace_get(PyObject *object, PyObject *name) {
    Namespace *self = (Namespace *)object;
    if (PyUnicode_GET_LENGTH(name) > 1 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_')
        return PyObject_GenericGetAttr(object, name);
    PyObject *on_host = PyObject_GetAttr(self->state, n_on_host);
    if (on_host == NULL) return NULL;
    PyObject *side = on_host == Py_True ? self->host : self->compiled;
    Py_DECREF(on_host);
    return PyObject_GetAttr(side, name);
}

static PyObject *namespace_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"compiled", "host", "state", NULL};
    PyObject *compiled, *host, *state;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO", names, &compiled, &host, &state)) return NULL;
    Namespace *self = (Namespace *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->compiled = Py_NewRef(compiled);
    self->host = Py_NewRef(host);
    self->state = Py_NewRef(state);
    return (PyObject *)self;
}

static void namespace_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Namespace *self = (Namespace *)object;
    Py_CLEAR(self->compiled);
    Py_CLEAR(self->host);
    Py_CLEAR(self->state);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyType_Slot namespace_slots[] = {
    {Py_tp_new, namespace_new}, {Py_tp_dealloc, namespace_dealloc}, {Py_tp_getattro, namespace_get}, {0, NULL}};
static PyType_Spec namespace_spec = {
    .name = "gradtape._src.core.native.recording.Namespace",
    .basicsize = sizeof(Namespace),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = namespace_slots,
};

/* Return the offset of a slot from its member descriptor, checked; -1 with an error if it is not such a slot. */
static Py_ssize_t offset_of(PyTypeObject *type, const char *name) {
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    if (found == NULL) return -1;
    Py_ssize_t offset = -1;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == T_OBJECT_EX && member->offset > 0 && member->offset < type->tp_basicsize) offset = member->offset;
    }
    if (offset < 0) PyErr_Format(PyExc_ImportError, "%s.%s is no slot", type->tp_name, name);
    Py_DECREF(found);
    return offset;
}

/* Store the engine's objects: `native.bind`. */
static PyObject *bind(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"Node", "Trace", "Op", "Aval", "EagerTensor", "ResourceVariable", "UnreadVariable", "Structure", "Array", "local", "internal", "wanted",
                            "numbers", "cut", "element", "execution", "engine", "naming", "others", "journal", "exits", "serial", "Left", "left", "as_array",
                            "leaf_key", "guesses", "main", "longest", NULL};
    PyObject *type[9], *object[18];
    unsigned long main_ident;
    Py_ssize_t most;
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "O!O!O!O!O!O!O!O!O!OO!OO!OOO!O!O!O!O!OOOOOOO!kn", names, &PyType_Type, &type[0], &PyType_Type, &type[1], &PyType_Type, &type[2],
            &PyType_Type, &type[3], &PyType_Type, &type[4], &PyType_Type, &type[5], &PyType_Type, &type[6], &PyType_Type, &type[7], &PyType_Type, &type[8], &object[0], &PyDict_Type,
            &object[1], &object[2], &PyDict_Type, &object[3], &object[4], &object[5], &PyDict_Type, &object[6], &PyDict_Type, &object[7],
            &PyDict_Type, &object[8], &PyDict_Type, &object[9], &PyDict_Type, &object[10], &object[11], &object[12], &object[13],
            &object[14], &object[15], &object[16], &PyDict_Type, &object[17], &main_ident, &most))
        return NULL;
    PyTypeObject *node = (PyTypeObject *)type[0], *trace = (PyTypeObject *)type[1], *aval = (PyTypeObject *)type[3];
    const struct {
        PyTypeObject *type;
        const char *name;
        Py_ssize_t *offset;
    } slots[] = {
        {node, "aval", &node_at.aval},
        {node, "code", &node_at.code},
        {node, "handle", &node_at.handle},
        {node, "index", &node_at.index},
        {node, "inputs", &node_at.inputs},
        {node, "key", &node_at.key},
        {node, "offset", &node_at.offset},
        {node, "origin", &node_at.origin},
        {node, "trace", &node_at.trace},
        {node, "value", &node_at.value},
        {trace, "assigned", &trace_at.assigned},
        {trace, "leaf_index", &trace_at.leaf_index},
        {trace, "leaves", &trace_at.leaves},
        {trace, "limit", &trace_at.limit},
        {trace, "nodes", &trace_at.nodes},
        {trace, "overrides", &trace_at.overrides},
        {trace, "parent", &trace_at.parent},
        {trace, "reads", &trace_at.reads},
        {trace, "scope", &trace_at.scope},
        {trace, "serial", &trace_at.serial},
        {aval, "dtype", &aval_at.dtype},
        {aval, "inexact", &aval_at.inexact},
        {aval, "ndim", &aval_at.ndim},
        {(PyTypeObject *)type[2], "attributes", &op_at.attributes},
        {(PyTypeObject *)type[2], "avals", &op_at.avals},
        {(PyTypeObject *)type[2], "guards", &op_at.guards},
        {(PyTypeObject *)type[2], "kernel", &op_at.kernel},
        {(PyTypeObject *)type[4], "node", &tensor_node},
        {(PyTypeObject *)type[6], "_of", &unread_of},
        {(PyTypeObject *)type[7], "avals", &structure_at.avals},
        {(PyTypeObject *)type[7], "keys", &structure_at.keys},
    };
    Py_ssize_t found[Py_ARRAY_LENGTH(slots)];
    for (size_t i = 0; i < Py_ARRAY_LENGTH(slots); i++)
        if ((found[i] = offset_of(slots[i].type, slots[i].name)) < 0) return NULL;
    PyObject *all = PyObject_GetAttrString(type[0], "__slots__");
    Py_ssize_t count = all == NULL ? -1 : PyObject_Length(all);
    Py_XDECREF(all);
    if (count < 0) return NULL;
    if (count != 10) return PyErr_Format(PyExc_ImportError, "a Node has %zd slots, and 10 are known here", count);
    for (size_t i = 0; i < Py_ARRAY_LENGTH(slots); i++) *slots[i].offset = found[i];
    PyTypeObject **types[] = {&Node, &Trace, &Op, &Aval, &EagerTensor, &ResourceVariable, &UnreadVariable, &Structure, &Array};
    PyObject **objects[] = {&local, &internal, &wanted, &numbers, &cut, &element_op, &execution_names, &engine_names, &naming_names,
                            &others, &journal_names, &exits, &journal_serial, &Left, &left, &as_array, &leaf_key, &guesses};
    for (int i = 0; i < 9; i++) Py_XSETREF(*types[i], (PyTypeObject *)Py_NewRef(type[i]));
    for (int i = 0; i < 18; i++) Py_XSETREF(*objects[i], Py_NewRef(object[i]));
    longest = most;
    main_thread = main_ident;
    enabled = 1;
    Py_RETURN_NONE;
}

/* Switch the twins on or off, for tests; return the previous setting. */
static PyObject *enable(PyObject *module, PyObject *on) {
    int before = enabled, now = PyObject_IsTrue(on);
    if (now < 0) return NULL;
    enabled = now && Node != NULL;
    return PyBool_FromLong(before);
}

static int execute(PyObject *module) {
#ifdef Py_GIL_DISABLED
    PyErr_SetString(PyExc_ImportError, "a Python without the global lock is not supported: traces are read and changed under it");
    return -1;
#endif
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "a sub-interpreter is not supported: what `bind` hands over is one for each process");
        return -1;
    }
    const struct {
        PyObject **name;
        const char *text;
    } words[] = {
        {&n_trace, "trace"},       {&n_tapes, "tapes"},     {&n_pauses, "pauses"},   {&n_anchor, "anchor"},     {&n_eager, "eager"},
        {&n_tensor, "_tensor"},    {&n_num, "num"},         {&n_assigned_in, "_assigned_in"}, {&n_shared, "shared"},
        {&n_acquire, "acquire"},   {&n_release, "release"}, {&n_open_graphs, "open_graphs"},
        {&n_latest, "_latest"},    {&n_comprehensions, "COMPREHENSIONS"},    {&n_append, "append"},   {&n_view, "view"},         {&n_flags, "flags"},
        {&n_writeable, "writeable"}, {&n_array, "__array__"},  {&n_traces, "traces"},
        {&n_on_host, "on_host"},   {&n_dtype, "dtype"},     {&n_contiguous, "c_contiguous"}, {&n_copy, "copy"},
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(words); i++)
        if (*words[i].name == NULL && (*words[i].name = PyUnicode_InternFromString(words[i].text)) == NULL) return -1;
    if (nothing == NULL && (nothing = PyTuple_New(0)) == NULL) return -1;
    if (zero == NULL && ((zero = PyLong_FromLong(0)) == NULL || (minus_one = PyLong_FromLong(-1)) == NULL)) return -1;
    if (keeping == NULL && find_handlers() < 0) return -1;
    PyObject *twin = PyType_FromSpec(&twin_spec), *names_of = PyType_FromSpec(&namespace_spec);
    int failed = twin == NULL || names_of == NULL || PyModule_AddObjectRef(module, "Twin", twin) < 0;
    failed = failed || PyModule_AddObjectRef(module, "Namespace", names_of) < 0;
    Py_XDECREF(twin);
    Py_XDECREF(names_of);
    return failed || PyModule_AddStringConstant(module, "source", GRADTAPE_SOURCE) < 0 ? -1 : 0;
}

static PyMethodDef functions[] = {
    {"bind", (PyCFunction)(void (*)(void))bind, METH_VARARGS | METH_KEYWORDS, NULL},
    {"enable", enable, METH_O, NULL},
    {NULL},
};
static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, execute}, {0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "recording", .m_methods = functions, .m_slots = module_slots};

PyMODINIT_FUNC PyInit_recording(void) { return PyModuleDef_Init(&definition); }
