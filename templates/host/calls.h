// Calls of Python that come again, by one call of C: their arguments are as they were, results are made, and
// kernels run.  Whatever is not as it was is left to Python.
#pragma once

namespace {

struct Span { long long low, high; };  // bytes of an array, counted from its first element
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
    const Op* ops;          // of numbers that follow from others
    const int* op_counts;   // of each
    const Shape* shapes;    // of what is returned, then of what is left in containers
    const Put* puts;
    const Node* target;     // what out= must be like, which is given for the only result; or 0
    uint64 finish;          // what makes of all arrays what is returned; 0 where C does
    uint64 plain;           // the user's own function, which runs such calls instead; or 0
    long long args, outside_count, word_count, number_count, inputs, made, written_count, store_count;
    long long computed_count, put_count, arena_bytes, target_made;
};
struct Table { uint64 holds; const Known* const* known; long long count; };

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

// Numbers that follow from others become leaves behind those of the arguments; false where one is an error.
bool computes(const Known& known, Taken& taken) {
    const Op* op = known.ops;
    for (long long i = 0; i < known.computed_count; ++i) {
        const uint64 found = computed(op, op + known.op_counts[i], taken);
        if (!found) return false;
        op += known.op_counts[i];
        taken.leaves[taken.leaf_count++] = taken.held[taken.held_count++] = found;
    }
    return true;
}

bool numbers_pack(const Known& known, Taken& taken) {
    for (long long i = 0; i < known.number_count; ++i) {
        const Number& number = known.numbers[i];
        if (!packs(number, taken.leaves[number.leaf], taken.words + number.word)) return false;
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

// What arguments hold, by the first of the shapes.
bool stores(const Known& known, const Shape*& next, const Taken& taken) {
    for (long long i = 0; i < known.store_count; ++i) {
        const Store& store = known.stores[i];
        const uint64 value = built(next, taken);
        const bool failed = !value || python.set_item(taken.words[store.to], store.key, value);
        if (value) python.drop(value);
        if (failed) return false;
    }
    return true;
}

// Python makes of arrays, containers and computed numbers what is returned.
uint64 finished(const Known& known, const Taken& taken) {
    const long long computed = known.computed_count;
    const uint64 arrays = tuple_of(taken.words, known.inputs + known.made);
    const uint64 containers = tuple_of(taken.containers, taken.container_count);
    const uint64 numbers = tuple_of(taken.leaves + taken.leaf_count - computed, computed);
    const bool are_made = arrays && containers && numbers;
    const uint64 found = are_made ? python.give(known.finish, arrays, containers, numbers, 0ull) : 0;
    if (arrays) python.drop(arrays);
    if (containers) python.drop(containers);
    if (numbers) python.drop(numbers);
    return found;
}

uint64 returned(const Known& known, const Taken& taken) {
    if (known.finish) return finished(known, taken);
    const Shape* next = known.shapes;
    if (!stores(known, next, taken)) return 0;
    const uint64 found = built(next, taken);
    for (long long i = 0; found && i < known.put_count; ++i) {
        const uint64 value = built(next, taken);
        const bool is_put = value && puts(known.puts[i], taken.containers[known.puts[i].container], value);
        if (value) python.drop(value);
        if (!is_put) return python.drop(found), 0;
    }
    return found;
}

uint64 left_to_python() { return python.hold(python.not_ours), python.not_ours; }

// Memory for temporaries: a heap gives back to the system what is large, and faults for each page anew.
enum { LARGE_ARENA = 1 << 16 };
void* new_arena(long long bytes) { return bytes > LARGE_ARENA ? ow_pool_malloc(0, bytes) : bytes ? malloc(bytes) : 0; }
void drop_arena(void* arena, long long bytes) {
    if (bytes > LARGE_ARENA) ow_pool_free(0, arena, bytes);
    else free(arena);
}

uint64 run_known(const Known& known, Taken& taken) {
    uint64* const words = taken.words;
    Object fault_object, arena_object;
    uint64 fault = 0;
    void* const arena = new_arena(known.arena_bytes);
    if (known.arena_bytes && !arena) return left_to_python();  // which says what is to be done
    fault_object.let_hold(&fault);
    arena_object.let_hold(arena);
    words[known.inputs + known.made] = (uint64)fault_object.bytes;
    words[known.plan->arena] = (uint64)arena_object.bytes;
    const long long ran = ow_plan(known.plan, words, 1, 0, 0, 0, 0, 0);
    drop_arena(arena, known.arena_bytes);
    if (ran <= FIRST_REFUSED) return left_to_python();
    if (ran < 0) return python.no_memory();
    if (python.error()) return 0;  // by the handler of a signal
    return fault ? left_to_python() : returned(known, taken);
}

// Results are made, and kernels run.
uint64 call_known(const Known& known, Taken& taken, uint64 target) {
    Place places[MOST_NUMBERS];
    const bool made = make_results(known, taken.words, places, target);
    const uint64 found = made ? run_known(known, taken) : 0;
    if (made) drop_made(known, taken.words, known.made);
    return found;
}

// What is asked whether a function reads from outside what it read then: 0 is the error of a signal's handler.
uint64 answered(const Table& table) {
    const uint64 answer = python.call(table.holds);
    if (answer) python.drop(answer);
    return answer;
}

// Run the first call that fits; of one that NumPy runs only `plain` is set.  What was taken apart is large, and no
// function of a user's runs above it: those may call this one again, a thousand deep.
__attribute__((noinline))
uint64 call_first(uint64 holder, const uint64* args, long long count, uint64 target, uint64* plain) {
    const Table& table = **(const Table* const*)(holder + python.fields);
    Taken taken;
    for (long long i = 0; i < table.count; ++i) {
        const Known& known = *table.known[i];
        if (count != known.args) continue;
        const bool is_known = takes_all(known, args, taken) && computes(known, taken) && numbers_pack(known, taken);
        if (is_known && may_write(known, taken.words, target)) {
            const uint64 answer = answered(table), runs = answer == python.yes;
            *plain = runs ? known.plain : 0;
            uint64 found = 0;
            if (runs && !*plain) found = call_known(known, taken, target);
            if (answer && !runs) found = left_to_python();
            taken.let_go();
            return found;
        }
        taken.let_go();
    }
    return left_to_python();
}

}  // namespace

extern "C" void ow_warm(const Python* functions) { python = *functions; }

// What a builtin function of Python runs that holds a table: a structure of ctypes, which has its address
// where an array has that of its data.
extern "C" uint64 ow_warm_call(uint64 holder, const uint64* args, long long count) {
    uint64 plain = 0;
    const uint64 found = call_first(holder, args, count, 0, &plain);
    return plain ? python.give_all(plain, args, count, 0) : found;
}

// The same, behind an array for the result.
extern "C" uint64 ow_warm_into(uint64 holder, const uint64* args, long long count) {
    uint64 plain = 0;
    return call_first(holder, args + 1, count - 1, args[0], &plain);
}
