// Numbers of Python and NumPy, as kernels take them: read where their objects hold them.
#pragma once

namespace {

// How a number lies in memory, of NumPy's and Python's objects and in a word for kernels, which take
// float16 and bfloat16 (HALF, BRAIN) as the float that they are; OF_PYTHON is an int, and BY_TYPE any.
enum Register {
    DOUBLE, SINGLE, LONG, INT, SHORT, BYTE, ULONG, UINT, USHORT, UBYTE, YES_OR_NO, HALF, BRAIN, OF_PYTHON, BY_TYPE
};
const int HELD_BYTES[] = {8, 4, 8, 4, 2, 1, 8, 4, 2, 1, 1, 2, 2};
struct Number { int leaf, word, form, read; };
struct Value { bool is_real; double real; long long integer; };

double power_of_two(int exponent) {
    const uint64 bits = (uint64)(exponent + 1023) << 52;
    return *(const double*)&bits;
}
// Behind what each object has, where Python is built as it is as a rule; a probe has looked (warm.py).
const void* held_by(uint64 object) { return (const void*)(object + python.type + 8); }
template <class T> T held_as(uint64 object) {
    T found;
    memcpy(&found, held_by(object), sizeof(T));
    return found;
}
bool is_integer(long long integer, Value& value) { return value = {false, 0, integer}, true; }
bool is_real(double real, Value& value) { return value = {true, real, 0}, true; }
bool is_half(unsigned short bits, Value& value) {
    const int exponent = bits >> 10 & 31, digits = bits & 1023;
    if (exponent == 31) return false;  // infinite, or none: hardly ever
    const double size = (exponent ? digits + 1024 : digits) * power_of_two((exponent ? exponent : 1) - 25);
    return is_real(bits >> 15 ? -size : size, value);
}

// What a number is worth; false where no long long is, or for another kind of object.
bool reads(int how, uint64 object, Value& value) {
    int overflows = 0;
    switch (how) {
    case DOUBLE: return is_real(held_as<double>(object), value);
    case SINGLE: return is_real(held_as<float>(object), value);
    case HALF: return is_half(held_as<unsigned short>(object), value);
    case LONG: return is_integer(held_as<long long>(object), value);
    case INT: return is_integer(held_as<int>(object), value);
    case SHORT: return is_integer(held_as<short>(object), value);
    case BYTE: return is_integer(held_as<signed char>(object), value);
    case ULONG: return is_integer(held_as<long long>(object), value) && value.integer >= 0;
    case UINT: return is_integer(held_as<unsigned>(object), value);
    case USHORT: return is_integer(held_as<unsigned short>(object), value);
    case UBYTE: case YES_OR_NO: return is_integer(held_as<unsigned char>(object), value);
    case OF_PYTHON: return is_integer(python.integer(object, &overflows), value) && !overflows;
    }
    return false;
}

// What tells a number from others of its type; false where it has more bits.
bool has_bits(int how, uint64 object, uint64& bits) {
    int overflows = 0;
    bits = how == OF_PYTHON ? (uint64)python.integer(object, &overflows) : 0;
    if (how != OF_PYTHON) memcpy(&bits, held_by(object), HELD_BYTES[how]);
    return !overflows;
}

// The nearest number of so many binary digits, the last of which is worth 2**least at least: what is added
// leaves no others.
double rounded(double real, int digits, int least) {
    const int exponent = (int)(*(const uint64*)&real >> 52 & 2047) - 1023, last = exponent - digits + 1;
    const double unit = power_of_two(last < least ? least : last), large = 0x1.8p52 * unit;
    const double found = real + large - large;
    return found == 0 && *(const uint64*)&real >> 63 ? -0.0 : found;
}
bool packs_single(float found, bool is_alike, uint64* word) {
    *word = 0;
    memcpy(word, &found, sizeof(found));
    return is_alike;
}
// As NumPy converts what Python computes with; false where it warns, which is Python's to do.
bool packs_real(int form, double real, uint64* word) {
    const double size = real < 0 ? -real : real;
    const bool is_infinite = size > 0x1.fffffffffffffp1023;
    if (form == DOUBLE) return *word = *(const uint64*)&real, true;
    if (form == SINGLE) return packs_single((float)real, !(size > 0x1.fffffep127) || is_infinite, word);
    if (form == HALF && size <= 65504) return packs_single((float)rounded(real, 11, -24), true, word);
    if (form == BRAIN && size <= 0x1.fep127) return packs_single((float)rounded((float)real, 8, -133), true, word);
    return (form == HALF || form == BRAIN) && is_infinite && packs_single((float)real, true, word);
}
template <class T> bool packs_as(long long integer, uint64* word) {
    const T found = (T)integer;
    *word = 0;
    memcpy(word, &found, sizeof(T));
    return (long long)found == integer && (integer >= 0 || T(-1) < T(0));
}
// Of those that are rounded, others round otherwise.
bool packs_integer(int form, long long integer, uint64* word) {
    const int digits = form == DOUBLE ? 53 : form == SINGLE ? 24 : form == HALF ? 11 : 8;
    const long long exact = 1ll << digits;
    switch (form) {
    case LONG: return packs_as<long long>(integer, word);
    case INT: return packs_as<int>(integer, word);
    case SHORT: return packs_as<short>(integer, word);
    case BYTE: return packs_as<signed char>(integer, word);
    case ULONG: return packs_as<uint64>(integer, word);
    case UINT: return packs_as<unsigned>(integer, word);
    case USHORT: return packs_as<unsigned short>(integer, word);
    case UBYTE: return packs_as<unsigned char>(integer, word);
    }
    return -exact <= integer && integer <= exact && packs_real(form, (double)integer, word);
}

// How a number of a type is read; -1 for one that is not known.
int read_of(uint64 type) {
    for (const NumberType& each : python.number_types)
        if (each.type == type) return each.read;
    return -1;
}

// A number as a kernel takes it; false for one that does not fit there, or that C converts otherwise.
bool packs(const Number& number, uint64 object, uint64* word) {
    const int how = number.read == BY_TYPE ? read_of(type_of(object)) : number.read;
    if (how == number.form && how <= YES_OR_NO) {
        *word = 0;
        return memcpy(word, held_by(object), HELD_BYTES[how]), true;
    }
    Value value;
    if (!reads(how, object, value)) return false;
    return value.is_real ? packs_real(number.form, value.real, word) : packs_integer(number.form, value.integer, word);
}

}  // namespace
