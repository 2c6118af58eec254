// What a call that comes again gives back: numbers that follow from others, results as the function returns
// them, and what is left in arguments.
#pragma once

namespace {

// A step of a number's expression: a leaf is put on a stack, or an object, or a function is called with so many.
struct Op { uint64 object; int leaf, count; };
enum { DEEPEST_EXPRESSION = 16, MOST_OPERANDS = 3 };
// A result: an array that Python or C makes, a number that C keeps for the time, or one of the arguments.
enum From { CALLED, EMPTY, NUMBER, ARGUMENT };
struct Made { uint64 make, descr; const long long* extents; int dims, from, argument, unused; };
// What is returned, in front of what it holds: an array, NumPy's number or Python's bool that one holds, a leaf,
// an object, a container of the arguments, or a new one.
enum Form { AS_IT_IS, SCALAR, TRUTH, LEAF, CONSTANT, AGAIN, PART, NEW_TUPLE, NEW_LIST, NEW_DICT };
struct Shape {
    int form, at;         // the word, leaf or container; how many a new container holds
    uint64 object;        // the dtype of a number, the object, or how many steps make a part
    const uint64* keys;   // of a dict; of a part pairs of a method, 0 for an index, and what it takes
};
struct Store { int to; uint64 key; };  // array[key] = what a shape says, when kernels are done
struct Put { int container, is_attribute; uint64 key; };  // what is left in a container, by its shape

// Where kernels leave a number, and what they find it by.
struct Place {
    alignas(16) char number[16];
    Object object;
};
enum { MOST_NUMBERS = 8 };

uint64 applied(const Op& op, const uint64* operands) {
    if (op.count == 1) return python.give(op.object, operands[0], 0ull);
    if (op.count == 2) return python.give(op.object, operands[0], operands[1], 0ull);
    return python.give(op.object, operands[0], operands[1], operands[2], 0ull);
}

// A number by its expression; 0 for an error, which is Python's to raise.
uint64 computed(const Op* op, const Op* end, const Taken& taken) {
    uint64 stack[DEEPEST_EXPRESSION];
    int top = 0;
    for (; op < end; ++op) {
        uint64 found = op->leaf < 0 ? op->object : taken.leaves[op->leaf];
        if (op->count) {
            found = applied(*op, stack + top - op->count);
            for (int i = 0; i < op->count; ++i) python.drop(stack[--top]);
        } else {
            python.hold(found);
        }
        if (!found) {
            while (top) python.drop(stack[--top]);
            return python.forget_error(), 0;
        }
        stack[top++] = found;
    }
    return stack[0];
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

uint64 built(const Shape*& next, const Taken& taken);

uint64 built_new(const Shape& shape, const Shape*& next, const Taken& taken) {
    const bool is_tuple = shape.form == NEW_TUPLE, is_list = shape.form == NEW_LIST;
    const uint64 found = is_tuple ? python.tuple(shape.at) : is_list ? python.list(shape.at) : python.dict();
    for (int i = 0; found && i < shape.at; ++i) {
        const uint64 item = built(next, taken);
        bool failed = !item;
        if (item && is_tuple) python.put(found, i, item);
        else if (item && is_list) python.put_in_list(found, i, item);
        else if (item) {
            failed = python.set_item(found, shape.keys[i], item);
            python.drop(item);
        }
        if (failed) return python.drop(found), 0;
    }
    return found;
}

// A view of an array, step by step.
uint64 part_of(uint64 array, const uint64* step, uint64 count) {
    python.hold(array);
    for (; array && count; --count, step += 2) {
        const uint64 next = step[0] ? python.give(step[0], array, step[1], 0ull) : python.get_item(array, step[1]);
        python.drop(array);
        array = next;
    }
    return array;
}

// What a shape says, and those that follow it.
uint64 built(const Shape*& next, const Taken& taken) {
    const Shape& shape = *next++;
    if (shape.form >= NEW_TUPLE) return built_new(shape, next, taken);
    if (shape.form == SCALAR) return python.scalar(array_of(taken.words[shape.at]).data, shape.object, 0);
    if (shape.form == PART) return part_of(taken.words[shape.at], shape.keys, shape.object);
    uint64 found = shape.object;
    if (shape.form == AS_IT_IS) found = taken.words[shape.at];
    if (shape.form == TRUTH) found = *array_of(taken.words[shape.at]).data ? python.yes : python.no;
    if (shape.form == LEAF) found = taken.leaves[shape.at];
    if (shape.form == AGAIN) found = taken.containers[shape.at];
    python.hold(found);
    return found;
}

uint64 tuple_of(const uint64* objects, long long count) {
    const uint64 found = python.tuple(count);
    for (long long i = 0; found && i < count; ++i) {
        python.hold(objects[i]);
        python.put(found, i, objects[i]);
    }
    return found;
}

// Leave a value in a container; that of an object's attributes is its dict.
bool puts(const Put& put, uint64 container, uint64 value) {
    const uint64 to = put.is_attribute ? python.attributes(container, 0) : container;
    const bool failed = !to || python.set_item(to, put.key, value);
    if (put.is_attribute && to) python.drop(to);
    return !failed;
}

}  // namespace
