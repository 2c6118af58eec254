// Calls of Python that come again, by one call of C: their arguments are as they were, results are made, and
// kernels run.  Whatever is not as it was is left to Python.
#pragma once

namespace {

enum Register { DOUBLE, SINGLE, LONG, INT };
struct Number { int leaf, word, form, is_real; };
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
    const Node* nodes;      // of the arguments, then of what the function reads from outside
    const Root* outside;
    const uint64* words;    // as a call begins with them: constants stand there
    const Number* numbers;
    const Made* makes;
    const Span* spans;      // of arguments and constants
    const int* written;     // those that kernels write to
    const Store* stores;
    const Result* results;
    const int* scalars;     // leaves that are numbers
    const Node* target;     // what out= must be like, which is given for the only result; or 0
    uint64 begin;           // what computes results that follow from numbers alone; 0 where there are none
    uint64 finish;          // what makes of all arrays what is returned; 0 where C does
    uint64 constant;        // what is always returned; 0 where it is an array or more
    long long args, outside_count, word_count, number_count, inputs, made, written_count, store_count;
    long long result_count, scalar_count, arena_bytes, is_tuple, target_made;
};
struct Table { uint64 holds; const Known* const* known; long long count; };

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

// Whether arguments, and what is outside of them, are as they were; if so, their arrays are among the words.
bool takes_all(const Known& known, const uint64* args, Taken& taken) {
    memcpy(taken.words, known.words, known.word_count * sizeof(uint64));
    taken.leaf_count = taken.held_count = taken.container_count = 0;
    taken.next = known.nodes;
    for (long long i = 0; i < known.args; ++i)
        if (!takes(taken, args[i], false)) return false;
    for (long long i = 0; i < known.outside_count; ++i) {
        const uint64 object = found_at(taken, known.outside[i]);
        if (!object || !takes(taken, object, false)) return false;
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

bool numbers_pack(const Known& known, Taken& taken) {
    for (long long i = 0; i < known.number_count; ++i) {
        const Number& number = known.numbers[i];
        const uint64 object = taken.leaves[number.leaf];
        int overflows = 0;
        const bool fits = number.is_real
            ? packs(number.form, python.real(object), taken.words + number.word)
            : packs(number.form, python.integer(object, &overflows), taken.words + number.word) && !overflows;
        if (!fits) return false;
    }
    return true;
}

// Whether kernels may write to an array: it is not read-only, and lies apart from the arguments, of which it
// may be one itself.
bool lies_apart(const Known& known, const uint64* words, const Array& to, const Span& span, int mine) {
    if (!(to.flags & WRITEABLE)) return false;
    for (int other = 0; other < known.inputs; ++other) {
        const char* from = array_of(words[other]).data;
        const Span& b = known.spans[other];
        if (other != mine && to.data + span.low < from + b.high && from + b.low < to.data + span.high) return false;
    }
    return true;
}

// The same of all that they write to.
bool may_write(const Known& known, const uint64* words, uint64 target) {
    for (long long i = 0; i < known.written_count; ++i) {
        const int mine = known.written[i];
        if (!lies_apart(known, words, array_of(words[mine]), known.spans[mine], mine)) return false;
    }
    if (!target) return true;
    if (!known.target || type_of(target) != known.target->like) return false;
    const Array& to = array_of(target);
    return lies_alike(*known.target, to) && lies_apart(known, words, to, known.spans[known.inputs], -1);
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

bool make_results(const Known& known, uint64* words, Place* places, uint64 target) {
    for (long long i = 0; i < known.made; ++i) {
        const bool is_given = target && i == known.target_made;
        if (is_given) python.hold(target);  // as one that is made is held
        const uint64 found = is_given ? target : made(known.makes[i], words, places);
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

// A tuple of what `each` makes of a place.
template <class Each> uint64 tuple_of(long long count, Each each) {
    const uint64 found = python.tuple(count);
    for (long long i = 0; found && i < count; ++i) {
        const uint64 item = each(i);
        if (!item) return python.drop(found), 0;
        python.put(found, i, item);
    }
    return found;
}

uint64 tuple_of_objects(const uint64* objects, long long count) {
    return tuple_of(count, [&](long long i) { return python.hold(objects[i]), objects[i]; });
}

uint64 returned(const Known& known, const Taken& taken, uint64 begun) {
    const uint64* const words = taken.words;
    if (known.constant) return python.hold(known.constant), known.constant;
    if (!known.finish && !known.is_tuple) return result_of(known.results[0], words);
    const uint64 arrays = tuple_of(known.result_count, [&](long long i) { return result_of(known.results[i], words); });
    if (!arrays || !known.finish) return arrays;
    const uint64 containers = tuple_of_objects(taken.containers, taken.container_count);
    const uint64 found = containers ? python.give(known.finish, arrays, containers, begun, 0) : 0;
    python.drop(arrays);
    if (containers) python.drop(containers);
    return found;
}

// What follows from numbers alone, before a kernel writes anything: it may be an error.
uint64 begun_with(const Known& known, const Taken& taken) {
    const uint64 numbers = tuple_of(known.scalar_count, [&](long long i) {
        const uint64 number = taken.leaves[known.scalars[i]];
        return python.hold(number), number;
    });
    const uint64 found = numbers ? python.give(known.begin, numbers, 0) : 0;
    if (numbers) python.drop(numbers);
    return found;
}

uint64 left_to_python() { return python.hold(python.not_ours), python.not_ours; }

uint64 run_known(const Known& known, Taken& taken, uint64 begun) {
    uint64* const words = taken.words;
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
    return stores(known, words) ? returned(known, taken, begun) : 0;
}

// Results are made, and kernels run, if what a function reads from outside is as it was.
uint64 call_known(const Known& known, uint64 holds, Taken& taken, uint64 target) {
    const uint64 answer = python.call(holds);
    if (!answer) return 0;
    python.drop(answer);
    if (answer != python.yes) return left_to_python();
    const uint64 begun = known.begin ? begun_with(known, taken) : 0;
    if (known.begin && !begun) return python.forget_error(), left_to_python();
    Place places[MOST_NUMBERS];
    const bool made = make_results(known, taken.words, places, target);
    const uint64 found = made ? run_known(known, taken, begun) : 0;
    if (made) drop_made(known, taken.words, known.made);
    if (begun) python.drop(begun);
    return found;
}

uint64 call_first(uint64 holder, const uint64* args, long long count, uint64 target) {
    const Table& table = **(const Table* const*)(holder + python.fields);
    Taken taken;
    for (long long i = 0; i < table.count; ++i) {
        const Known& known = *table.known[i];
        const bool is_known = count == known.args && takes_all(known, args, taken);
        if (is_known && numbers_pack(known, taken) && may_write(known, taken.words, target)) {
            const uint64 found = call_known(known, table.holds, taken, target);
            taken.let_go();
            return found;
        }
        if (count == known.args) taken.let_go();
    }
    return left_to_python();
}

}  // namespace

extern "C" void ow_warm(const Python* functions) { python = *functions; }

// What a builtin function of Python runs that holds a table: a structure of ctypes, which has its address
// where an array has that of its data.
extern "C" uint64 ow_warm_call(uint64 holder, const uint64* args, long long count) {
    return call_first(holder, args, count, 0);
}

// The same, behind an array for the result.
extern "C" uint64 ow_warm_into(uint64 holder, const uint64* args, long long count) {
    return call_first(holder, args + 1, count - 1, args[0]);
}
