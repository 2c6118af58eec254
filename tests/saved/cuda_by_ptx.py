"""CUDA without a GPU, for programs that stand alone: kernels run as PTX, by the interpreter.

``Nvcc`` builds a .cu file into a library, against a runtime whose functions are these: memory is
that of the host, and a launch gives its arguments to Python.  ``Cupy`` is a stand-in of the module
for Python files that launch ``RawKernel``s.
"""

import ctypes
import shutil
import subprocess
import types

import numpy as np

from opweave.runtime.binaries import nvrtc
from opweave.runtime.ptx.code import code_of
from opweave.runtime.ptx.launch import PtxLaunch, packed, run
from opweave.runtime.ptx.machine import Shape
from opweave.runtime.ptx.memory import region_of
from opweave.templates import TEMPLATES

NVCC = shutil.which("nvcc")
# The functions of CUDA's runtime that a launcher calls, and that nvcc itself calls for a launch.
RUNTIME = r"""
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
struct Entry { const void* host; const char* name; };
static Entry kernels[64];
static int kernel_count;
static struct { dim3 grid, block; size_t shared; cudaStream_t stream; } pushed;
typedef void (*Launched)(const char*, const unsigned*, size_t, void**);
static Launched launched;
static cudaError_t failing = cudaSuccess;
extern "C" {
size_t stand_in_pieces[64][2];  // memory besides the arrays of a call, and its bytes
int stand_in_count;
static void piece(void* at, size_t size) {
    stand_in_pieces[stand_in_count][0] = (size_t)at, stand_in_pieces[stand_in_count++][1] = size;
}
void stand_in(Launched f) { launched = f; }
void stand_in_fails(int error) { failing = (cudaError_t)error; }
int stand_in_held;
void** __cudaRegisterFatBinary(void*) { static void* handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
    kernels[kernel_count++] = {host, name};
}
void __cudaRegisterVar(void**, char* host, char*, const char* name, int, size_t size, int, int) {
    piece(host, size);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
    pushed = {grid, block, shared, stream};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = pushed.grid, *block = pushed.block, *shared = pushed.shared;
    *(cudaStream_t*)stream = pushed.stream;
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* f, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t) {
    const unsigned shape[6] = {grid.x, grid.y, grid.z, block.x, block.y, block.z};
    for (int n = 0; n < kernel_count; ++n)
        if (kernels[n].host == f) { launched(kernels[n].name, shape, shared, args); return cudaSuccess; }
    return cudaErrorInvalidDeviceFunction;
}
cudaError_t __cudaGetKernel(void** kernel, const void* f) { *kernel = (void*)f; return cudaSuccess; }
cudaError_t __cudaLaunchKernel(void* f, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(f, grid, block, args, shared, stream);
}
cudaError_t cudaGetLastError() { const cudaError_t e = failing; failing = cudaSuccess; return e; }
cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) {
    *p = aligned_alloc(512, (n + 511) / 512 * 512);
    memset(*p, 0x5a, n);
    piece(*p, n);
    ++stand_in_held;
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t) {
    for (int n = 0; n < stand_in_count; ++n)
        if (stand_in_pieces[n][0] == (size_t)p) stand_in_pieces[n][1] = 0;
    free(p);
    --stand_in_held;
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int v, size_t n, cudaStream_t) { memset(p, v, n); return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind, cudaStream_t) {
    memcpy(to, from, n);
    return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void** p, const void* host) { *p = (void*)host; return cudaSuccess; }
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
}
"""


def shell(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def runtime_in(folder):
    """The stand-in of CUDA's runtime, compiled."""
    (folder / "runtime.cpp").write_text(RUNTIME)
    made = folder / "runtime.o"
    shell(NVCC, "-c", "-Xcompiler", "-fPIC", "-o", made, folder / "runtime.cpp")
    return made


class Nvcc:
    """A .cu file as a library, whose kernels are run by the interpreter.

    Attributes:
        launches: (name, grid, block, shared bytes) of what it has launched.
    """

    def __init__(self, path, folder, runtime, options):
        """``runtime``: an object file of the stand-in, see ``runtime_in``."""
        library = folder / "launcher.so"
        # PTX and no more: the launcher does not look at what is in the library
        shell(NVCC, "-gencode", "arch=compute_90a,code=compute_90a", *options, "-w", "-shared",
              "-Xcompiler", "-fPIC", "-cudart", "none", "--keep", "--keep-dir", folder,
              "-o", library, path, runtime)  # fmt: skip
        (text,) = folder.glob("*.ptx")
        self.ptx = text.read_text()
        self.library, self.launches, self.arrays, self.raised = ctypes.CDLL(library), [], [], []
        kind = ctypes.CFUNCTYPE(
            None, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t,
            ctypes.POINTER(ctypes.c_void_p),
        )  # fmt: skip
        self._held = kind(self._launched)
        self.library.stand_in(self._held)

    @property
    def held(self):
        """Pieces of memory that were not given back."""
        return ctypes.c_int.in_dll(self.library, "stand_in_held").value

    def fail(self, error):
        """Let the next launch fail."""
        self.library.stand_in_fails(error)

    def call(self, name, *args):
        """Call the launcher with arrays and numbers; gives its status."""
        self.arrays = [a for a in args if isinstance(a, np.ndarray)]
        given = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray)
                 else ctypes.c_double(a) if isinstance(a, float) else ctypes.c_longlong(a)
                 for a in args]  # fmt: skip
        status = getattr(self.library, name)(*given, None)
        if self.raised:
            raise self.raised.pop()
        return status

    def _launched(self, name, shape, shared, args):
        try:
            name, grid, block = name.decode(), (*shape[:3],), (*shape[3:6],)
            self.launches.append((name, grid, block, shared))
            code = code_of(self.ptx, name)
            params = code.layout.functions[name].function.params
            values = [ctypes.string_at(args[n], p.size) for n, p in enumerate(params)]
            run_by_ptx(self.ptx, name, (grid, block, shared), values, self._memory())
        except BaseException as error:  # which C cannot pass on
            self.raised.append(error)

    def _memory(self):
        """All arrays that a kernel may reach, as bytes."""
        count = ctypes.c_int.in_dll(self.library, "stand_in_count").value
        table = (ctypes.c_size_t * 2 * 64).in_dll(self.library, "stand_in_pieces")
        held = [bytes_at(at, size) for at, size in table[:count] if size]
        return [*self.arrays, *held]


def bytes_at(address, count):
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))


def run_by_ptx(text, name, launch, values, arrays):
    """Run a kernel, which may reach these arrays and nothing else."""
    grid, block, shared = launch
    regions = [region_of(f"array {n}", a) for n, a in enumerate(arrays) if a.size]
    run(PtxLaunch(text, name, Shape(grid, block), packed(text, name, values), shared), regions)


# A stand-in of CuPy


class Place:
    """So many bytes behind the beginning of an array."""

    def __init__(self, array, offset=0):
        self.array, self.offset = array, offset
        self.ptr = array.base.ctypes.data + offset

    def __add__(self, offset):
        return Place(self.array, self.offset + offset)

    def memset_async(self, value, nbytes):
        self.bytes[:nbytes] = value

    def copy_from_device_async(self, other, nbytes):
        self.bytes[:nbytes] = other.bytes[:nbytes]

    @property
    def bytes(self):
        return self.array.base.reshape(-1).view(np.uint8)[self.offset :]


class CupyArray:
    """An array of the stand-in: NumPy's memory."""

    def __init__(self, base):
        self.base = base
        self.shape, self.dtype, self.flags = base.shape, base.dtype, base.flags

    @property
    def data(self):
        return Place(self)


class Cupy(types.ModuleType):
    """The module: arrays, and kernels that NVRTC compiles and the interpreter runs.

    Attributes:
        arrays: all that were made, which a kernel may reach.
        launches: (name, grid, block, shared bytes) of what was launched.
    """

    def __init__(self):
        super().__init__("cupy")
        self.arrays, self.launches = [], []

    def asarray(self, array):
        self.arrays.append(CupyArray(np.array(array, order="C")))
        return self.arrays[-1]

    def empty(self, shape, dtype):
        made = self.asarray(np.empty(shape, dtype))
        made.data.memset_async(0x5A, made.base.nbytes)
        return made

    def RawKernel(self, source, name, options=()):
        assert "--fmad=false" in options
        compiled = {}

        def launch(grid, block, args, shared_mem=0):
            if not compiled:
                chosen = {"std": "c++17", "fmad": False}
                compiled["ptx"] = nvrtc.ptx(source, "sm_90a", chosen, TEMPLATES.parent)
            self.launches.append((name, grid, block, shared_mem))
            values = [np.uint64(a.data.ptr).tobytes() if isinstance(a, CupyArray) else a.tobytes()
                      for a in args]  # fmt: skip
            arrays = [a.base for a in self.arrays]
            run_by_ptx(compiled["ptx"], name, (grid, block, shared_mem), values, arrays)

        return launch
