// Python's functions, and facts about its objects.
#pragma once

// A type of numbers, and how they are read: see numbers.h.
enum { MOST_TYPES = 16 };
struct NumberType { uint64 type; long long read; };
// Python's functions and facts about its objects, see runtime/host/warm.py.  Objects are their addresses.
struct Python {
    uint64 (*call)(uint64);                  // PyObject_CallNoArgs
    uint64 (*give)(uint64, ...);             // PyObject_CallFunctionObjArgs, whose last is 0
    uint64 (*give_all)(uint64, const uint64*, long long, uint64);  // PyObject_Vectorcall
    int (*set_item)(uint64, uint64, uint64);         // PyObject_SetItem
    uint64 (*get_item)(uint64, uint64);      // PyObject_GetItem
    uint64 (*tuple)(long long);              // PyTuple_New
    int (*put)(uint64, long long, uint64);   // PyTuple_SetItem, which takes the reference over
    uint64 (*list)(long long);               // PyList_New
    int (*put_in_list)(uint64, long long, uint64);   // PyList_SetItem, likewise
    uint64 (*dict)();                        // PyDict_New
    uint64 (*tuple_item)(uint64, long long); // PyTuple_GetItem, and so on, which lend their reference
    long long (*tuple_size)(uint64);
    uint64 (*list_item)(uint64, long long);
    long long (*list_size)(uint64);
    int (*dict_next)(uint64, long long*, uint64*, uint64*);
    long long (*dict_size)(uint64);
    uint64 (*dict_item)(uint64, uint64);     // PyDict_GetItemWithError
    uint64 (*attributes)(uint64, void*);     // PyObject_GenericGetDict
    uint64 (*in_cell)(uint64);               // PyCell_Get
    void (*hold)(uint64);                    // Py_IncRef
    void (*drop)(uint64);                    // Py_DecRef
    long long (*integer)(uint64, int*);      // PyLong_AsLongLongAndOverflow
    uint64 (*error)();                       // PyErr_Occurred
    void (*forget_error)();                  // PyErr_Clear
    uint64 (*no_memory)();                   // PyErr_NoMemory
    uint64 (*of_integer)(long long);         // PyLong_FromLongLong
    uint64 (*of_real)(double);               // PyFloat_FromDouble
    void (*forget)(uint64);                  // PyDict_Clear
    uint64 (*empty)(int, const long long*, uint64, int);  // PyArray_Empty, which takes a dtype over
    uint64 (*scalar)(const void*, uint64, uint64);        // PyArray_Scalar
    uint64 not_ours, yes, no;  // UNKNOWN, True and False
    long long type, fields;  // where an object has its type, and an array what NumPy's header says
    NumberType number_types[MOST_TYPES];
};

namespace {

Python python;

uint64 type_of(uint64 object) { return *(const uint64*)(object + python.type); }

}  // namespace
