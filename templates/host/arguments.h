// Arguments of a call that comes again: taken apart and compared with those of an earlier call.  Whatever is
// not as it was is left to Python.
#pragma once

namespace {

// PyArrayObject_fields and the first fields of PyArray_Descr, of NumPy's ndarraytypes.h.
struct Descr { uint64 type; char kind, letter, order, flags; int number; };
struct Array { char* data; int dims; const long long *extents, *strides; uint64 owner, descr; int flags; };
enum { ALIGNED = 0x100, WRITEABLE = 0x400 };

const Array& array_of(uint64 object) { return *(const Array*)(object + python.fields); }
// Objects of Python begin alike, so a dtype has its fields where an array has them.
const Descr& descr_of(const Array& array) { return *(const Descr*)(array.descr + python.fields); }

// What kernels find an address in that is none of Python's objects.
struct Object {
    alignas(8) char bytes[64];
    void let_hold(const void* address) { *(const void**)(bytes + python.fields) = address; }
};
// A value, in front of those that it holds.  Leaves but for None: what is not looked at, that very object, an
// array, numbers.
enum Kind { NOTHING, ANY, SAME, ARRAY, GIVEN, TUPLE, LIST, DICT, OBJECT };
struct Node {
    int kind, count;         // dimensions of an array, or how many values it holds
    uint64 like;             // its type, or that object
    const long long* lies;   // extents and strides of an array
    const uint64* keys;      // of a dict, or the names of an object's attributes
    int word, number, order, aligned;  // an array: where it stands among the words, its dtype, a flag;
                                       // a number: how it is read
    int is_exact, is_told;   // a number must be the same; a container is told of
    uint64 value;            // that number; the type of dicts
};
// Where a value that is no argument lies: it is that object, or in a dict by its name, or in a cell.
enum Where { HERE, IN_DICT, IN_CELL };
struct Root { int where, unused; uint64 object, name; };
enum { MOST_WORDS = 256, MOST_CONTAINERS = 64 };

// What was taken apart: words for the kernels, leaves, and what is held until they are done.
struct Taken {
    uint64 words[MOST_WORDS], leaves[MOST_WORDS], held[MOST_WORDS], containers[MOST_CONTAINERS];
    int leaf_count, held_count, container_count;
    const Node* next;

    void keep(uint64 object) {
        python.hold(object);
        held[held_count++] = object;
    }
    void let_go() {
        while (held_count) python.drop(held[--held_count]);
    }
    // A container that stands there twice is Python's.
    bool tells_of(uint64 container, bool is_lent) {
        for (int i = 0; i < container_count; ++i)
            if (containers[i] == container) return false;
        if (is_lent) keep(container);
        containers[container_count++] = container;
        return true;
    }
};

bool lies_alike(const Node& node, const Array& array) {
    const Descr& descr = descr_of(array);
    if (array.dims != node.count || descr.number != node.number || descr.order != node.order) return false;
    if (!(array.flags & ALIGNED) != !node.aligned) return false;
    for (int d = 0; d < node.count; ++d)
        if (array.extents[d] != node.lies[d] || array.strides[d] != node.lies[node.count + d]) return false;
    return true;
}

bool is_that_number(const Node& node, uint64 object) {
    uint64 bits;
    return has_bits(node.number, object, bits) && bits == node.value;
}

bool takes_leaf(Taken& taken, const Node& node, uint64 object, bool is_lent) {
    if (node.kind == ARRAY && !lies_alike(node, array_of(object))) return false;
    if (node.kind == ARRAY && node.word >= 0) taken.words[node.word] = object;
    if (is_lent && node.kind >= ARRAY) taken.keep(object);
    taken.leaves[taken.leaf_count++] = object;
    return !node.is_exact || is_that_number(node, object);
}

bool takes(Taken& taken, uint64 object, bool is_lent);

bool takes_values(Taken& taken, const Node& node, uint64 dict) {
    if (python.dict_size(dict) != node.count) return false;
    long long at = 0;
    uint64 key, value;
    for (int i = 0; i < node.count; ++i)
        if (!python.dict_next(dict, &at, &key, &value) || key != node.keys[i] || !takes(taken, value, true)) return false;
    return true;
}

bool takes_items(Taken& taken, const Node& node, uint64 object) {
    if (node.kind == DICT) return takes_values(taken, node, object);
    if (node.kind == OBJECT) {
        const uint64 dict = python.attributes(object, 0);
        if (!dict) return python.forget_error(), false;
        const bool took = type_of(dict) == node.value && takes_values(taken, node, dict);
        python.drop(dict);
        return took;
    }
    const bool is_tuple = node.kind == TUPLE;
    if ((is_tuple ? python.tuple_size : python.list_size)(object) != node.count) return false;
    for (int i = 0; i < node.count; ++i)
        if (!takes(taken, (is_tuple ? python.tuple_item : python.list_item)(object, i), true)) return false;
    return true;
}

// Whether a value is as it was.  One that is lent is held until kernels are done: another thread may take it
// from where it lies.
bool takes(Taken& taken, uint64 object, bool is_lent) {
    const Node& node = *taken.next++;
    if (node.kind != ANY && (node.kind <= SAME ? object : type_of(object)) != node.like) return false;
    if (node.kind == NOTHING) return true;
    if (node.kind < TUPLE) return takes_leaf(taken, node, object, is_lent);
    return takes_items(taken, node, object) && (!node.is_told || taken.tells_of(object, is_lent));
}

// What lies somewhere now, held; 0 where nothing does.
uint64 found_at(Taken& taken, const Root& root) {
    if (root.where == HERE) return root.object;
    const uint64 found = root.where == IN_DICT ? python.dict_item(root.object, root.name) : python.in_cell(root.object);
    if (found) taken.keep(found);
    if (found && root.where == IN_CELL) python.drop(found);  // it was held already
    return found;
}

}  // namespace
