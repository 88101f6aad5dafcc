/* A Python interpreter with the module _global_arrays built in: 2-d arrays of doubles that all MPI ranks share.

   An interpreter, not an extension module, because the libraries of Global Arrays are often static and not made for
   shared ones. mpi4py initializes MPI; all ranks call create, sync, destroy and terminate together. The interpreter's
   lock is held throughout, since Global Arrays knows no threads. */

#define PY_SSIZE_T_CLEAN
#define _GNU_SOURCE
#include <Python.h>
#include <dlfcn.h>
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdlib.h>

/* ARMCI, which moves the bytes, counts those of one transfer in an int. */
#define LARGEST_TRANSFER_BYTES ((int64_t)1 << 28)

static PyObject *create(PyObject *module, PyObject *args)
{
    int64_t shape[2], chunk[2];
    long long n_rows, n_columns;
    int is_initialized, array;
    if (!PyArg_ParseTuple(args, "LL:create", &n_rows, &n_columns))
        return NULL;
    if (n_rows < 1 || n_columns < 1)
        return PyErr_Format(PyExc_ValueError, "expected a shape of positive numbers, got (%lld, %lld)", n_rows,
                            n_columns);
    MPI_Initialized(&is_initialized);
    if (!is_initialized) {
        PyErr_SetString(PyExc_RuntimeError, "MPI is not initialized: import mpi4py.MPI first, with the MPI library of "
                                            "this interpreter (MPI4PY_LIBMPI)");
        return NULL;
    }
    if (!GA_Initialized())
        GA_Initialize();
    shape[0] = n_rows, shape[1] = n_columns;
    chunk[0] = -1, chunk[1] = n_columns; /* whole rows on each rank */
    array = NGA_Create64(C_DBL, 2, shape, "mdreel", chunk);
    if (!array)
        return PyErr_Format(PyExc_MemoryError, "no global array of %lld by %lld doubles", n_rows, n_columns);
    return PyLong_FromLong(array);
}

/* Whether it is an array of ours; an exception otherwise. */
static int has_shape(int array, int64_t shape[2])
{
    int type, n_dimensions;
    if (!GA_Initialized() || !GA_Valid_handle(array)) {
        PyErr_Format(PyExc_ValueError, "there is no global array %d", array);
        return 0;
    }
    NGA_Inquire64(array, &type, &n_dimensions, shape);
    return 1;
}

/* Move rows, from the first one on, between an array and a buffer of the same columns. */
static PyObject *move(PyObject *args, const char *format, int buffer_flags,
                      void (*transfer)(int, int64_t *, int64_t *, void *, int64_t *))
{
    int array;
    long long first;
    PyObject *object;
    Py_buffer buffer;
    int64_t shape[2], low[2], high[2], n_rows, n_together, i;
    if (!PyArg_ParseTuple(args, format, &array, &first, &object) || !has_shape(array, shape))
        return NULL;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | buffer_flags))
        return NULL;
    if (buffer.ndim != 2 || buffer.shape[1] != shape[1] || !buffer.format || strcmp(buffer.format, "d")) {
        PyErr_Format(PyExc_ValueError, "expected rows of %lld doubles", (long long)shape[1]);
        goto fail;
    }
    n_rows = buffer.shape[0];
    if (first < 0 || first > shape[0] - n_rows) {
        PyErr_Format(PyExc_IndexError, "rows %lld to %lld are not among the %lld rows of the global array", first,
                     first + (long long)n_rows, (long long)shape[0]);
        goto fail;
    }
    n_together = LARGEST_TRANSFER_BYTES / (shape[1] * (int64_t)sizeof(double));
    if (n_together < 1)
        n_together = 1;
    low[1] = 0, high[1] = shape[1] - 1;
    for (i = 0; i < n_rows; i += n_together) {
        low[0] = first + i;
        high[0] = first + (n_rows - i < n_together ? n_rows : i + n_together) - 1;
        transfer(array, low, high, (double *)buffer.buf + i * shape[1], &shape[1]);
    }
    PyBuffer_Release(&buffer);
    Py_RETURN_NONE;
fail:
    PyBuffer_Release(&buffer);
    return NULL;
}

static PyObject *put(PyObject *module, PyObject *args)
{
    return move(args, "iLO:put", PyBUF_SIMPLE, NGA_Put64);
}

static PyObject *get(PyObject *module, PyObject *args)
{
    return move(args, "iLO:get", PyBUF_WRITABLE, NGA_Get64);
}

static PyObject *sync_all(PyObject *module, PyObject *nothing)
{
    if (GA_Initialized())
        GA_Sync();
    Py_RETURN_NONE;
}

static PyObject *destroy(PyObject *module, PyObject *args)
{
    int array;
    int64_t shape[2];
    if (!PyArg_ParseTuple(args, "i:destroy", &array) || !has_shape(array, shape))
        return NULL;
    GA_Destroy(array);
    Py_RETURN_NONE;
}

static PyObject *terminate(PyObject *module, PyObject *nothing)
{
    if (GA_Initialized())
        GA_Terminate();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"create", create, METH_VARARGS, "create(n_rows, n_columns): make an array, together; return its number."},
    {"put", put, METH_VARARGS, "put(array, first, rows): write rows, from a buffer of doubles."},
    {"get", get, METH_VARARGS, "get(array, first, rows): read rows, into a buffer of doubles."},
    {"sync", sync_all, METH_NOARGS, "sync(): wait, together, until all that was put is there."},
    {"destroy", destroy, METH_VARARGS, "destroy(array): give an array up, together."},
    {"terminate", terminate, METH_NOARGS, "terminate(): end Global Arrays, together, before MPI ends."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_global_arrays",
                                        "Arrays that all MPI ranks share (Global Arrays).", -1, methods};

static PyObject *initialize_module(void)
{
    return PyModule_Create(&definition);
}

int main(int argc, char **argv)
{
    /* mpi4py must use the library that this program is linked with: with two of them in a process neither works. Only
       the address beyond this program tells which that is. */
    Dl_info library;
    void *symbol = dlsym(RTLD_NEXT, "MPI_Initialized");
    if (symbol && dladdr(symbol, &library))
        setenv("MPI4PY_LIBMPI", library.dli_fname, 1);
    if (PyImport_AppendInittab("_global_arrays", initialize_module))
        return 1;
    return Py_BytesMain(argc, argv);
}
