// Loops of a function that C runs, asked for by one call of C: the names of the function hold what is like an
// earlier call's, the loop runs, and what it leaves is given back.  Whatever is not as it was is left to Python.
#pragma once

namespace {

enum { MOST_LEFT_WORDS = 64, LOOP_DONE = 0, NO_ROUND = 1, LOOP_NOT_SERVED = 3 };  // as in loop_errors.py
// What a name holds behind the loop: nothing, a number of Python or NumPy, or an array whose memory is ours.
// `said`: the word that says whether it is that, or else `otherwise`; -1 where it is.
enum LeftAs { UNBOUND, INTEGER_LEFT, REAL_LEFT, TRUTH_LEFT, SCALAR_LEFT, ARRAY_LEFT };
struct Left { int kind, word, dims, item_bytes, said, otherwise; uint64 descr; };
struct ArrayWord { int array, word, is_writeable, unused; };  // word -1: the loop gets no address
struct OutsideWord { uint64 compute, type; Number number; };  // Python makes it of what the names hold
struct KnownLoop {
    int (*loop)(const long long*, long long*, LoopWatch);
    const Node* nodes;           // of what the names hold
    const uint64* words;         // as the loop gets them: extents and steps stand there
    const ArrayWord* arrays;
    const Number* numbers;
    const OutsideWord* outside;
    const Left* left;            // to each of the results
    uint64 holds, error;         // whether globals are as they were; what raises a loop's error
    long long* counts;           // calls, and steps of all of them
    long long word_count, array_count, number_count, outside_count, left_count, made_count;
};
// `slowly` runs any call, by Python; `number` is the dtype of int64; `largest`: of integers of Python.
struct LoopTable {
    uint64 slowly, unbound, number;
    const uint64* names;
    const KnownLoop* const* known;
    long long name_count, count, largest;
};

bool packs_for_loop(const LoopTable& table, const Number& number, uint64 object, uint64* word) {
    if (!packs(number, object, word)) return false;
    const long long integer = *word;
    return number.read != OF_PYTHON || (-table.largest <= integer && integer <= table.largest);
}

// Whether what the names hold is as it was; if so, it is held, and what the loop gets of it is in `given`.
bool takes_names(const LoopTable& table, const KnownLoop& known, uint64 names, Taken& taken, uint64* given) {
    taken.leaf_count = taken.held_count = taken.container_count = 0;
    taken.next = known.nodes;
    for (long long i = 0; i < table.name_count; ++i) {
        const uint64 object = python.dict_item(names, table.names[i]);
        if ((!object && taken.next->like) || !takes(taken, object, true)) return false;  // a name is not bound
    }
    memcpy(given, known.words, known.word_count * sizeof(uint64));
    for (long long i = 0; i < known.array_count; ++i) {
        const ArrayWord& word = known.arrays[i];
        const Array& array = array_of(taken.words[word.array]);
        if (!(array.flags & WRITEABLE) != !word.is_writeable) return false;
        if (word.word >= 0) given[word.word] = (uint64)array.data;
    }
    for (long long i = 0; i < known.number_count; ++i) {
        const Number& number = known.numbers[i];
        if (!packs_for_loop(table, number, taken.leaves[number.leaf], given + number.word)) return false;
    }
    for (long long i = 0; i < known.outside_count; ++i) {
        const OutsideWord& word = known.outside[i];
        const uint64 made = python.give(word.compute, names, 0ull);
        if (!made) return false;  // the handler of a signal has raised something
        uint64* const to = given + word.number.word;
        const bool is_taken = type_of(made) == word.type && packs_for_loop(table, word.number, made, to);
        python.drop(made);
        if (!is_taken) return false;
    }
    return true;
}

// An array that a loop has made; its memory is given back.
uint64 array_left(const Left& left, const long long* words) {
    void* const at = (void*)words[left.word];
    const long long* const extents = words + left.word + 1;
    long long bytes = left.item_bytes;
    for (int d = 0; d < left.dims; ++d) bytes *= extents[d];
    python.hold(left.descr);
    const uint64 found = python.empty(left.dims, extents, left.descr, 0);
    if (found && bytes) memcpy(array_of(found).data, at, bytes);
    free(at);
    return found;
}

uint64 held(uint64 object) { return python.hold(object), object; }

uint64 value_left(const LoopTable& table, const Left& left, const long long* words) {
    double real;
    memcpy(&real, words + left.word, sizeof(real));
    switch (left.said < 0 || words[left.said] & 1 ? left.kind : left.otherwise) {
    case INTEGER_LEFT: return python.of_integer(words[left.word]);
    case REAL_LEFT: return python.of_real(real);
    case TRUTH_LEFT: return held(words[left.word] ? python.yes : python.no);
    case SCALAR_LEFT: return python.scalar(words + left.word, left.descr, 0);
    case ARRAY_LEFT: return array_left(left, words);
    }
    return held(table.unbound);
}

// All that a loop has left; without a round the names hold what they held.
uint64 values_left(const LoopTable& table, const KnownLoop& known, const long long* words) {
    const uint64 found = python.tuple(known.left_count);
    bool failed = !found;
    for (long long i = 0; i < known.left_count; ++i) {
        const uint64 value = words ? value_left(table, known.left[i], words) : held(table.unbound);
        failed |= !value;
        if (found && value) python.put(found, i, value);
        else if (value) python.drop(value);
    }
    if (failed && found) python.drop(found);
    return failed ? 0 : found;
}

// A loop's error, as Python raises it.
uint64 loop_error(const LoopTable& table, const KnownLoop& known, long long end, const long long* made) {
    const long long at = (long long)made;
    const uint64 code = python.scalar(&end, table.number, 0), words = code ? python.scalar(&at, table.number, 0) : 0;
    const uint64 found = words ? python.give(known.error, code, words, 0ull) : 0;
    if (words) python.drop(words);
    if (code) python.drop(code);
    return found;
}

// Run a loop for names that are as they were.  LOOP_NOT_SERVED: it was made for other numbers; nothing has happened.
int ran(const KnownLoop& known, uint64 names, const uint64* given, long long* made) {
    const uint64 answer = python.call(known.holds);
    if (answer) python.drop(answer);
    if (answer != python.yes) return LOOP_NOT_SERVED;
    const int end = ow_loop(known.loop, (const long long*)given, made);
    if (end == LOOP_NOT_SERVED) return end;
    known.counts[0] += 1;
    if (end == LOOP_DONE) known.counts[1] += made[known.made_count - 1];
    python.forget(names);  // a frame keeps what it was asked for, and arrays would stay
    return end;
}

// Run the first loop that fits; what was taken apart is large, and no function of a user's runs above it.
__attribute__((noinline)) uint64 run_first(const LoopTable& table, uint64 names) {
    Taken taken;
    uint64 given[MOST_WORDS];
    long long made[MOST_LEFT_WORDS];
    for (long long i = 0; i < table.count; ++i) {
        const KnownLoop& known = *table.known[i];
        const bool is_taken = takes_names(table, known, names, taken, given);
        const int end = is_taken ? ran(known, names, given, made) : LOOP_NOT_SERVED;
        uint64 found = 0;
        if (end != LOOP_NOT_SERVED && !python.error()) {
            const bool has_left = end == LOOP_DONE || end == NO_ROUND;
            found = has_left ? values_left(table, known, end == LOOP_DONE ? made : 0) : loop_error(table, known, end, made);
        }
        taken.let_go();
        if (end != LOOP_NOT_SERVED || python.error()) return found;
    }
    return left_to_python();
}

}  // namespace

// What a builtin function of Python runs that holds a table, as in calls.h.
extern "C" uint64 ow_loop_call(uint64 holder, const uint64* args, long long count) {
    const LoopTable& table = **(const LoopTable* const*)(holder + python.fields);
    const uint64 found = count == 1 ? run_first(table, args[0]) : left_to_python();
    if (found != python.not_ours) return found;
    python.drop(found);
    return python.give_all(table.slowly, args, count, 0);
}
