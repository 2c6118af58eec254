"""A stand-in of CuPy that records what is launched; nothing runs."""

import types

import numpy as np


class Array:
    """What opweave asks of a CuPy array."""

    __cuda_array_interface__ = None

    def __init__(self, array, device=0):
        self.array = array
        self.device = types.SimpleNamespace(id=device)
        self.data = types.SimpleNamespace(ptr=array.ctypes.data // 16 * 16)
        for name in ("dtype", "shape", "strides", "itemsize", "flags", "size", "ndim"):
            setattr(self, name, getattr(array, name))

    def get(self, stream=None):
        return self.array

    def __setitem__(self, key, value):
        self.array[key] = value.array if isinstance(value, Array) else value

    def __getitem__(self, key):
        return Array(self.array[key], self.device.id)

    def transpose(self, *axes):
        return Array(self.array.transpose(*axes), self.device.id)

    def copy(self):
        return Array(self.array.copy(), self.device.id)

    def set(self, array, stream=None):
        self.array[...] = array


class DriverError(RuntimeError):
    """An error of CuPy's: a text, and CUDA's number."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


class Device:
    """A device, which may be the current one.

    Attributes:
        cupy: the stand-in that it belongs to.
    """

    cupy, compute_capability = None, "90"

    def __init__(self, index=None):
        self.id = self.cupy.devices[-1] if index is None else index

    def __enter__(self):
        self.cupy.devices.append(self.id)

    def __exit__(self, *error):
        self.cupy.devices.pop()


class Stream:
    """Notes what happens to it between the launches.

    Attributes:
        cupy: the stand-in that it belongs to.
    """

    cupy, ptr, capturing = None, 7, False

    def __init__(self, non_blocking=False):
        pass

    def __enter__(self):
        self.cupy.streams.append(self)
        return self

    def __exit__(self, *error):
        self.cupy.streams.pop()

    def is_capturing(self):
        return self.capturing

    def synchronize(self):
        assert not self.is_capturing()
        self.cupy.waited_for.append(self)

    def begin_capture(self):
        self.cupy.launches.append("begin")

    def end_capture(self):
        launches = self.cupy.launches
        launches.append("end")
        return types.SimpleNamespace(launch=lambda stream: launches.append("replay"))


class Module:
    """A cubin that is loaded.

    Attributes:
        cupy: the stand-in that it belongs to.
    """

    cupy = None

    def load(self, cubin):
        assert cubin[:4] == b"\x7fELF"

    def get_function(self, name):
        launches = self.cupy.launches
        return lambda grid, block, args: launches.append((name, grid, block, args))


class Cupy(types.ModuleType):
    """The module.

    Attributes:
        launches: (name, grid, block, arguments) of each kernel, and what graphs did.
        streams: the current one last.
        devices: likewise.
        waited_for: streams that were.
        emptied: has an entry for each time that the pool was emptied.
    """

    ndarray, asarray = Array, Array
    uint8, uint32, uint64 = np.uint8, np.uint32, np.uint64

    def __init__(self):
        super().__init__("cupy")
        self.launches, self.waited_for, self.emptied = [], [], []
        made = type("Stream", (Stream,), {"cupy": self})
        self.streams = [made()]
        self.streams[0].ptr, self.devices = 3, [0]
        self.cuda = types.SimpleNamespace(
            Device=type("Device", (Device,), {"cupy": self}),
            Stream=made,
            function=types.SimpleNamespace(Module=type("Module", (Module,), {"cupy": self})),
            driver=types.SimpleNamespace(CUDADriverError=DriverError),
            runtime=types.SimpleNamespace(
                getDeviceCount=lambda: 2, getDevice=lambda: self.devices[-1],
                getDeviceProperties=lambda index: {
                    "name": b"Stand-in", "multiProcessorCount": 132, "l2CacheSize": 1 << 25,
                },
                CUDARuntimeError=DriverError,
            ),
            get_current_stream=lambda: self.streams[-1],
            alloc=lambda nbytes: self.empty(nbytes, np.uint8),
            alloc_pinned_memory=lambda nbytes: bytearray(nbytes + 512),
        )  # fmt: skip

    def empty(self, shape, dtype):
        return Array(np.empty(shape, dtype), self.devices[-1])

    def zeros(self, shape, dtype):
        assert not self.streams[-1].is_capturing(), "zeros that are captured are not there before"
        return Array(np.zeros(shape, dtype), self.devices[-1])

    def get_default_memory_pool(self):
        return types.SimpleNamespace(free_all_blocks=lambda: self.emptied.append(1))

    def may_share_memory(self, a, b):
        return np.may_share_memory(a.array, b.array)
