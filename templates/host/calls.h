// Calls of Python that come again, by one call of C: arguments are compared with those of earlier calls,
// results are made, and kernels run.  Whatever is not as it was is left to Python.
#pragma once

// Python's functions and facts about its objects, see runtime/host/warm.py.  Objects are their addresses.
struct Python {
    uint64 (*call)(uint64);              // PyObject_CallNoArgs
    uint64 (*give)(uint64, uint64, uint64);  // PyObject_CallFunctionObjArgs: one argument, then 0
    int (*set_item)(uint64, uint64, uint64);  // PyObject_SetItem
    uint64 (*tuple)(long long);          // PyTuple_New
    int (*put)(uint64, long long, uint64);   // PyTuple_SetItem, which takes the reference over
    void (*hold)(uint64);                // Py_IncRef
    void (*drop)(uint64);                // Py_DecRef
    double (*real)(uint64);              // PyFloat_AsDouble
    long long (*integer)(uint64, int*);  // PyLong_AsLongLongAndOverflow
    uint64 (*error)();                   // PyErr_Occurred
    uint64 (*no_memory)();               // PyErr_NoMemory
    uint64 (*empty)(int, const long long*, uint64, int);  // PyArray_Empty, which takes a dtype over
    uint64 (*scalar)(const void*, uint64, uint64);        // PyArray_Scalar
    uint64 not_ours, yes, no;            // NotImplemented, True and False
    long long type, fields;  // where an object has its type, and an array what NumPy's header says
};

namespace {

Python python;

// PyArrayObject_fields and the first fields of PyArray_Descr, of NumPy's ndarraytypes.h.
struct Descr { uint64 type; char kind, letter, order, flags; int number; };
struct Array { char* data; int dims; const long long *extents, *strides; uint64 owner, descr; int flags; };
enum { ALIGNED = 0x100, WRITEABLE = 0x400 };

uint64 type_of(uint64 object) { return *(const uint64*)(object + python.type); }
const Array& array_of(uint64 object) { return *(const Array*)(object + python.fields); }
// Objects of Python begin alike, so a dtype has its fields where an array has them.
const Descr& descr_of(const Array& array) { return *(const Descr*)(array.descr + python.fields); }

enum Kind { SAME, ARRAY, REAL, INTEGER };  // of a leaf: that very object, or what calls tell
struct Leaf {
    int kind, word;  // where an array stands among the words
    uint64 like;     // the object, or its type
    const long long* lies;  // extents and strides
    int dims, number, order, aligned;  // the dtype's number and byte order, and a flag
};
enum Register { DOUBLE, SINGLE, LONG, INT };
struct Number { int leaf, word, form, unused; };
struct Span { long long low, high; };  // bytes of an array, counted from its first element
// A result: an array that Python or C makes, a number that C keeps for the time, or one of the arguments.
enum From { CALLED, EMPTY, NUMBER, ARGUMENT };
struct Made { uint64 make, descr; const long long* extents; int dims, from, argument, unused; };
// What is returned: an array, NumPy's number or Python's bool that one holds.
enum Form { AS_IT_IS, SCALAR, TRUTH };
struct Result { int word, form; uint64 descr; };
struct Store { int to, from; uint64 key; };  // array[key] = array, when kernels are done

struct Known {
    const CallPlan* plan;
    const Leaf* leaves;     // of the arguments, then those that the function reads from outside
    const uint64* outside;
    const uint64* words;    // as a call begins with them: constants stand there
    const Number* numbers;
    const Made* makes;
    const Span* spans;      // of arguments and constants
    const int* written;     // those that kernels write to
    const Store* stores;
    const Result* results;
    uint64 finish;          // what makes of all arrays what is returned; 0 where C does
    uint64 constant;        // what is always returned; 0 where it is an array or more
    long long args, leaf_count, word_count, number_count, inputs, made, written_count, store_count;
    long long result_count, arena_bytes, is_tuple;
};
struct Table { uint64 holds; const Known* const* known; long long count; };
enum { MOST_WORDS = 256 };

// What kernels find an address in that is none of Python's objects.
struct Object {
    alignas(8) char bytes[64];
    void let_hold(const void* address) { *(const void**)(bytes + python.fields) = address; }
};
// Where kernels leave a number, and what they find it by.
struct Place {
    alignas(16) char number[16];
    Object object;
};
enum { MOST_NUMBERS = 8 };

bool lies_alike(const Leaf& leaf, const Array& array) {
    const Descr& descr = descr_of(array);
    if (array.dims != leaf.dims || descr.number != leaf.number || descr.order != leaf.order) return false;
    if (!(array.flags & ALIGNED) != !leaf.aligned) return false;
    for (int d = 0; d < leaf.dims; ++d)
        if (array.extents[d] != leaf.lies[d] || array.strides[d] != leaf.lies[leaf.dims + d]) return false;
    return true;
}

// Whether arguments are as they were; if so, their arrays are among the words.
bool takes(const Known& known, const uint64* args, uint64* words) {
    for (long long i = 0; i < known.leaf_count; ++i) {
        const Leaf& leaf = known.leaves[i];
        const uint64 object = i < known.args ? args[i] : known.outside[i - known.args];
        if ((leaf.kind == SAME ? object : type_of(object)) != leaf.like) return false;
        if (leaf.kind != ARRAY) continue;
        if (!lies_alike(leaf, array_of(object))) return false;
        words[leaf.word] = object;
    }
    return true;
}

// A number as a kernel takes it; false for one that does not fit there, or that C rounds otherwise.
bool packs(int form, double value, uint64* word) {
    if (form == DOUBLE) *(double*)word = value;
    else if (form == SINGLE) *(float*)word = (float)value;
    else return false;
    return true;
}
bool packs(int form, long long value, uint64* word) {
    const long long exact = form == SINGLE ? 1ll << 24 : 1ll << 53;
    if (form == DOUBLE || form == SINGLE) return -exact <= value && value <= exact && packs(form, (double)value, word);
    if (form == INT && value != (int)value) return false;
    *(long long*)word = form == INT ? (long long)(unsigned)(int)value : value;
    return true;
}

bool numbers_pack(const Known& known, const uint64* args, uint64* words) {
    for (long long i = 0; i < known.number_count; ++i) {
        const Number& number = known.numbers[i];
        const uint64 object = number.leaf < known.args ? args[number.leaf] : known.outside[number.leaf - known.args];
        int overflows = 0;
        const bool fits = known.leaves[number.leaf].kind == REAL
            ? packs(number.form, python.real(object), words + number.word)
            : packs(number.form, python.integer(object, &overflows), words + number.word) && !overflows;
        if (!fits) return false;
    }
    return true;
}

// Whether kernels may write to arguments: they are not read-only, and lie apart from all others.
bool may_write(const Known& known, const uint64* words) {
    for (long long i = 0; i < known.written_count; ++i) {
        const int mine = known.written[i];
        const Array& to = array_of(words[mine]);
        if (!(to.flags & WRITEABLE)) return false;
        for (int other = 0; other < known.inputs; ++other) {
            const char* from = array_of(words[other]).data;
            const Span &a = known.spans[mine], &b = known.spans[other];
            if (other != mine && to.data + a.low < from + b.high && from + b.low < to.data + a.high) return false;
        }
    }
    return true;
}

void drop_made(const Known& known, const uint64* words, long long count) {
    for (long long i = 0; i < count; ++i)
        if (known.makes[i].from <= EMPTY) python.drop(words[known.inputs + i]);
}

uint64 made(const Made& result, const uint64* words, Place*& places) {
    if (result.from == ARGUMENT) return words[result.argument];
    if (result.from == CALLED) return python.call(result.make);
    if (result.from == EMPTY) {
        python.hold(result.descr);
        return python.empty(result.dims, result.extents, result.descr, 0);
    }
    places->object.let_hold(places->number);
    return (uint64)places++->object.bytes;
}

bool make_results(const Known& known, uint64* words, Place* places) {
    for (long long i = 0; i < known.made; ++i) {
        const uint64 found = made(known.makes[i], words, places);
        if (!found) return drop_made(known, words, i), false;
        words[known.inputs + i] = found;
    }
    return true;
}

uint64 result_of(const Result& result, const uint64* words) {
    const uint64 word = words[result.word];
    if (result.form == SCALAR) return python.scalar(array_of(word).data, result.descr, 0);
    const uint64 found = result.form == AS_IT_IS ? word : *array_of(word).data ? python.yes : python.no;
    python.hold(found);
    return found;
}

bool stores(const Known& known, const uint64* words) {
    for (long long i = 0; i < known.store_count; ++i) {
        const Store& store = known.stores[i];
        if (python.set_item(words[store.to], store.key, words[store.from])) return false;
    }
    return true;
}

uint64 tuple_of(const Result* results, long long count, const uint64* words) {
    const uint64 found = python.tuple(count);
    for (long long i = 0; found && i < count; ++i) {
        const uint64 each = result_of(results[i], words);
        if (!each) return python.drop(found), 0;
        python.put(found, i, each);
    }
    return found;
}

uint64 returned(const Known& known, const uint64* words) {
    if (known.constant) return python.hold(known.constant), known.constant;
    if (!known.finish && !known.is_tuple) return result_of(known.results[0], words);
    const uint64 each = tuple_of(known.results, known.result_count, words);
    if (!each || !known.finish) return each;
    const uint64 found = python.give(known.finish, each, 0);
    python.drop(each);
    return found;
}

uint64 left_to_python() { return python.hold(python.not_ours), python.not_ours; }

uint64 run_known(const Known& known, uint64* words) {
    Object fault_object, arena_object;
    uint64 fault = 0;
    void* const arena = known.arena_bytes ? malloc(known.arena_bytes) : 0;
    if (known.arena_bytes && !arena) return python.no_memory();
    fault_object.let_hold(&fault);
    arena_object.let_hold(arena);
    words[known.inputs + known.made] = (uint64)fault_object.bytes;
    words[known.plan->arena] = (uint64)arena_object.bytes;
    const long long ran = ow_plan(known.plan, words, 1, 0, 0, 0, 0, 0);
    free(arena);
    if (ran < 0) return python.no_memory();
    if (python.error()) return 0;  // by the handler of a signal
    if (fault) return left_to_python();
    return stores(known, words) ? returned(known, words) : 0;
}

}  // namespace

extern "C" void ow_warm(const Python* functions) { python = *functions; }

// What a builtin function of Python runs that holds a table: a structure of ctypes, which has its address
// where an array has that of its data.
extern "C" uint64 ow_warm_call(uint64 holder, const uint64* args, long long count) {
    const Table& table = **(const Table* const*)(holder + python.fields);
    uint64 words[MOST_WORDS];
    for (long long i = 0; i < table.count; ++i) {
        const Known& known = *table.known[i];
        if (count != known.args) continue;
        memcpy(words, known.words, known.word_count * sizeof(uint64));
        if (!takes(known, args, words) || !numbers_pack(known, args, words) || !may_write(known, words)) continue;
        const uint64 holds = python.call(table.holds);
        if (!holds) return 0;
        python.drop(holds);
        if (holds != python.yes) break;
        Place places[MOST_NUMBERS];
        if (!make_results(known, words, places)) return 0;
        const uint64 found = run_known(known, words);
        drop_made(known, words, known.made);
        return found;
    }
    return left_to_python();
}
