"""``opweave demo``: pictures of every kind, the shipped digits, and what it checks."""

import json
import os
import struct
import sys
import zlib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.cli import demo, measure, pictures
from opweave.cli.main import main
from opweave.cli.measure import Measured
from opweave.opcodes.errors import FileError, MissingExtraError
from tests.support import picture

Image = pytest.importorskip("PIL.Image")
RGB = np.random.default_rng(3).integers(0, 256, (5, 7, 3), dtype=np.uint8)
ALPHA = np.random.default_rng(4).integers(0, 256, (5, 7), dtype=np.uint8)
DEEP = np.random.default_rng(5).integers(0, 65536, (5, 7), dtype=np.uint16)


def saved(path, array, mode=None, **options):
    image = Image.fromarray(array)
    (image.convert(mode) if mode else image).save(path, **options)
    return path


def deep_rgb(path):
    """A PNG of 16 bits a channel, which Pillow reads and does not write."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\0" + np.repeat(row[:, None], 3, 1).astype(">u2").tobytes() for row in DEEP)
    head = struct.pack(">IIBBBBB", 7, 5, 16, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )  # fmt: skip
    return path


# Pictures


@pytest.mark.parametrize(
    ("mode", "name", "close"),
    [(None, "a.png", 0), (None, "a.bmp", 0), (None, "a.jpg", 255), ("CMYK", "a.jpg", 255),
     ("P", "a.png", 255), ("L", "a.png", 255), ("1", "a.png", 255)],
)  # fmt: skip
def test_every_mode_becomes_rgb(tmp_path, mode, name, close):
    found = pictures.read(saved(tmp_path / name, RGB, mode))

    assert (found.pixels.shape, found.pixels.dtype) == (RGB.shape, np.uint8)
    assert (found.alpha, found.notes) == (None, ())
    assert np.abs(found.pixels.astype(int) - RGB).max() <= close


def test_grey_becomes_three_equal_channels(tmp_path):
    found = pictures.read(saved(tmp_path / "a.png", ALPHA))

    assert (found.pixels == ALPHA[..., None]).all()


@pytest.mark.parametrize("mode", [None, "LA"])
def test_alpha_is_kept_aside(tmp_path, mode):
    found = pictures.read(saved(tmp_path / "a.png", np.dstack([RGB, ALPHA]), mode))

    assert found.pixels.shape == RGB.shape
    assert (found.alpha == ALPHA).all()


def test_a_transparent_colour_of_a_palette_is_alpha(tmp_path):
    Image.fromarray(RGB).quantize(8).save(tmp_path / "a.gif", transparency=3)
    found = pictures.read(tmp_path / "a.gif")

    assert set(np.unique(found.alpha)) == {0, 255}


@pytest.mark.parametrize(
    ("array", "name", "largest"),
    [(DEEP, "a.png", 65535), (DEEP.astype(np.int32), "a.tiff", 65535),
     (DEEP.astype(np.int32) << 12, "a.tiff", int(DEEP.max()) << 12),
     (DEEP.astype(np.float32) / 7, "a.tiff", DEEP.max() / 7)],
)  # fmt: skip
def test_deep_pictures_are_scaled_and_say_so(tmp_path, array, name, largest):
    found = pictures.read(saved(tmp_path / name, array))
    expected = array.astype(np.float64) * 255 / largest

    assert found.notes == ("scaled to 8 bits",)
    assert np.abs(found.pixels[..., 0] - expected).max() <= 0.51
    assert (found.pixels[..., 0] == found.pixels[..., 2]).all()


def test_deep_colour_is_scaled_and_says_so(tmp_path):
    found = pictures.read(deep_rgb(tmp_path / "a.png"))

    assert found.notes == ("scaled to 8 bits",)
    assert np.abs(found.pixels[..., 1].astype(int) - np.rint(DEEP / 257)).max() <= 1


def test_exif_orientation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = 6
    found = pictures.read(saved(tmp_path / "a.png", RGB, exif=exif))

    assert (found.pixels == np.rot90(RGB, -1)).all()
    assert found.notes == ("turned upright as its EXIF says",)


def test_of_several_frames_the_first_is_taken(tmp_path):
    frames = [Image.fromarray(np.full((4, 4, 3), n, np.uint8)) for n in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    found = pictures.read(tmp_path / "a.gif")

    assert found.notes == ("first of 2 frames",)
    assert (found.pixels == 10).all()


def test_what_is_written_is_read_back(tmp_path):
    pictures.write(tmp_path / "a.png", RGB, ALPHA)
    found = pictures.read(tmp_path / "a.png")

    assert (found.pixels == RGB).all()
    assert (found.alpha == ALPHA).all()


def bad_picture(kind, path):
    if kind == "truncated":
        saved(path, np.tile(RGB, (40, 40, 1)))
        path.write_bytes(path.read_bytes()[:900])
    elif kind == "text":
        path.write_text("hello")
    elif kind == "empty":
        path.write_text("")
    elif kind == "folder":
        path.mkdir()
    return path


@pytest.mark.parametrize(
    ("kind", "expected", "piece"),
    [
        ("truncated", 1, "truncated"),
        ("text", 1, "is not a picture that Pillow reads"),
        ("empty", 1, "is not a picture that Pillow reads"),
        ("folder", 2, "is a folder"),
        ("absent", 2, "does not exist"),
    ],
)
def test_what_is_no_picture_is_one_line(tmp_path, capsys, kind, expected, piece):
    path = bad_picture(kind, tmp_path / "a.png")
    status = main(["demo", "--image", str(path), "--out", str(tmp_path / "out")])
    out, err = capsys.readouterr()

    assert (status, out) == (expected, "")
    assert err.startswith(f"opweave: error: {path}")
    assert piece in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_out_folder_that_is_a_file_is_one_line(tmp_path, capsys):
    (tmp_path / "out").write_text("")
    image = saved(tmp_path / "a.png", RGB)
    for out in ("out", "out/deeper"):
        assert main(["demo", "--image", str(image), "--out", str(tmp_path / out)]) == 1
        err = capsys.readouterr().err
        assert err.startswith("opweave: error: ")
        assert str(tmp_path / "out") in err
        assert err.count("\n") == 1


def test_an_out_folder_that_cannot_be_written_is_one_line(tmp_path, capsys, monkeypatch):
    def refused(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.touch", refused)
    image = saved(tmp_path / "a.png", RGB)
    status = main(["demo", "--image", str(image), "--out", str(tmp_path / "out")])
    err = capsys.readouterr().err

    assert status == 1
    assert "cannot be written: Permission denied" in err
    assert "--out" in err


def test_without_pillow_or_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"opweave\[demo\]"):
        pictures.read(tmp_path / "a.png")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="--image"):
        pictures.sample()


def test_the_sample_photograph_needs_no_import_of_matplotlib():
    pytest.importorskip("matplotlib")
    before = set(sys.modules)
    found = pictures.read(pictures.sample())

    assert found.pixels.shape == (600, 512, 3)
    assert not any(m.startswith("matplotlib") for m in set(sys.modules) - before)


# The shipped digits


def test_the_digits_are_small_plain_and_read_well():
    path = files("opweave") / "data" / "digits.npz"
    data = demo.load_digits()
    x = data["images"].astype(np.float32) / 16
    for number in (1, 2):
        x = np.maximum(x @ data[f"w{number}"] + data[f"b{number}"], 0)
    found = (x @ data["w3"] + data["b3"]).argmax(axis=1)

    assert len(path.read_bytes()) < 100_000
    assert (data["images"].shape, data["images"].dtype, data["images"].max()) == (
        (360, 64),
        np.uint8,
        16,
    )
    assert [data[n].shape for n in demo.WEIGHTS] == [
        (64, 64),
        (64,),
        (64, 32),
        (32,),
        (32, 10),
        (10,),
    ]
    assert {data[n].dtype for n in demo.WEIGHTS} == {np.dtype(np.float32)}
    assert np.mean(found == data["labels"]) >= demo.LEAST_ACCURACY


def test_damaged_digits_are_a_typed_error(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "digits.npz").write_text("damaged")
    monkeypatch.setattr(demo, "files", lambda package: tmp_path)

    with pytest.raises(FileError, match="install opweave again"):
        demo.load_digits()


# The demo as a whole


@pytest.fixture
def image(tmp_path):
    return saved(tmp_path / "a.png", np.dstack([RGB, ALPHA]))


def ran(capsys, image, folder, *options):
    status = main(["demo", "--image", str(image), "--out", str(folder), *options])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.host
def test_the_demo_fuses_checks_and_writes(tmp_path, capsys, image):
    status, out, err = ran(capsys, image, tmp_path / "out", "--json")
    found = json.loads(out)
    photograph, digits = found["parts"]

    assert (status, err, found["ok"]) == (0, "", True)
    assert (photograph["kernels"], photograph["kernels_unfused"] >= 8) == (1, True)
    assert digits["kernels"] < digits["kernels_unfused"]
    assert all(
        p["same_bits"] and p["error"] <= 1 and p["bytes_saved"] > 0 for p in (photograph, digits)
    )
    assert digits["accuracy"] >= demo.LEAST_ACCURACY
    assert sorted(found["files"]) == sorted(os.listdir(tmp_path / "out"))
    assert {f.split(".")[-2] for f in found["files"] if f.endswith(".cu")} == {"host", "sm_90a"}
    after = pictures.read(tmp_path / "out" / "after.png")
    assert (after.alpha == ALPHA).all()
    assert (after.pixels != RGB).any()


@pytest.mark.host
def test_the_table_says_the_same(tmp_path, capsys, image):
    status, out, _ = ran(capsys, image, tmp_path / "out", "--target", "A100")

    assert status == 0
    assert "picture of 7 x 5 pixels, on the host" in out
    head, photograph, digits = (line.split() for line in out.splitlines()[1:4])
    assert (head[0], photograph[0], digits[0]) == ("part", "photograph", "digits")
    assert "speed-up" in head
    assert "96.7% read correctly" in out
    assert any(f.endswith(".sm_80.cu") for f in os.listdir(tmp_path / "out"))
    named = out.splitlines()[-1].strip()
    assert named == str(tmp_path / "out" / "develop_pixel_u8.host.cu")
    assert "power" in (tmp_path / "out" / "develop_pixel_u8.host.cu").read_text()


def widest():
    """A part whose cells are as wide as they get."""
    numbers = Measured("host", 23, 10, 1023 << 20, 0.00998, 0.00123, 0.999, 1.23e-5, True, True,
                       (), RGB)  # fmt: skip
    return demo.Part("photograph", ow.fuse(demo.develop), (), numbers)


@pytest.mark.parametrize("colour", [False, True])
def test_the_table_fits_80_columns(capsys, monkeypatch, colour):
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("opweave.cli.terminal.takes_colour", lambda stream: colour)
    written = ["develop_pixel_u8.host.cu", "develop_pixel_u8.sm_90a.cu"]
    demo._print([widest()], pictures.Picture(RGB), Path("demo-out"), written)
    lines = capsys.readouterr().out.splitlines()

    assert max(map(len, lines)) <= 80
    assert any("1023.0 MiB  9.98 ms  1.23 ms  999 ms   812.2 x" in line for line in lines)


def test_the_kernel_to_open_is_the_one_that_ran():
    written = ["develop_pixel_u8.host.cu", "develop_pixel_u8.sm_90a.cu", "classify_0.host.cu"]
    part = widest()
    card = replace(part, measured=replace(part.measured, executor="NVIDIA H200"))

    assert demo.kernel_of(part, written) == "develop_pixel_u8.host.cu"
    assert demo.kernel_of(card, written) == "develop_pixel_u8.sm_90a.cu"


def test_a_time_is_the_least_of_several(monkeypatch):
    clock = iter([0.0, 0.4, 1.0, 1.1, 2.0, 2.9])
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(clock))

    assert measure.least_seconds(lambda: None, lambda: None) == pytest.approx(0.1)


# The photograph, before and after


def newly_black(before, after):
    """The share of the pixels that have a channel at 0 which was not there before."""
    return ((after == 0) & (before > 0)).any(axis=-1).mean()


def test_the_developed_photograph_keeps_its_shadows():
    pytest.importorskip("matplotlib")
    before = pictures.read(pictures.sample()).pixels
    after = demo.develop(before, *demo.LOOK.values())

    assert newly_black(before, after) < 0.01
    assert (after == 255).mean() < 0.01


def test_the_picture_of_the_readme_is_what_the_demo_makes():
    pytest.importorskip("matplotlib")
    shown, made = Image.open(picture.PATH), picture.sheet()
    before, after = picture.halves(np.asarray(shown))
    apart = np.asarray(shown.reduce(8)).astype(int) - np.asarray(made.reduce(8))

    assert np.abs(apart).mean() < 1  # the rest is JPEG's
    assert newly_black(before, after) < 0.01


@pytest.mark.host
def test_a_picture_of_one_pixel(tmp_path, capsys):
    image = saved(tmp_path / "a.png", RGB[:1, :1])

    assert ran(capsys, image, tmp_path / "out")[0] == 0


@pytest.mark.host
@pytest.mark.parametrize(
    ("changes", "accuracy", "piece"),
    [
        (
            {"failures": ("fused and unfused differ",)},
            0.97,
            "FAILED: digits: fused and unfused differ",
        ),
        ({}, 0.94, "FAILED: digits: accuracy 0.9400, expected at least 0.95"),
    ],
)
def test_what_does_not_hold_is_a_failure(
    tmp_path, capsys, monkeypatch, image, changes, accuracy, piece
):
    real = demo.read_digits

    def worse(place):
        part = real(place)
        return replace(part, measured=replace(part.measured, **changes), accuracy=accuracy)

    monkeypatch.setattr(demo, "read_digits", worse)
    status, out, _ = ran(capsys, image, tmp_path / "out")

    assert status == 1
    assert piece in out


def test_an_unknown_target_is_found_before_any_work(tmp_path, capsys, image):
    status, _, err = ran(capsys, image, tmp_path / "out", "--target", "sm_1")

    assert status == 2
    assert "unknown target 'sm_1'" in err
    assert not (tmp_path / "out").exists()


def test_a_gpu_is_used_where_cupy_has_one(monkeypatch):
    from types import SimpleNamespace

    waits = []
    device = SimpleNamespace(synchronize=lambda: waits.append(1))
    module = SimpleNamespace(cuda=SimpleNamespace(Device=lambda index: device))
    monkeypatch.setattr(measure.cuda, "cupy", lambda: module)
    monkeypatch.setattr(measure.cuda, "live_device", lambda index: SimpleNamespace(name="H200"))
    monkeypatch.setattr(measure.cuda, "copied_in", lambda value: ("moved", value))
    place = measure.best_testbed()
    place.wait()

    assert (place.name, place.move(3), waits) == ("H200", ("moved", 3), [1])


@pytest.mark.host
def test_a_check_that_does_not_hold_is_reported_and_not_raised(monkeypatch):
    def refused(self, *args, **kwargs):
        raise ow.errors.CheckError("a result lies outside\nits bound")

    monkeypatch.setattr("opweave._functions.fused.Fused.check", refused)
    x = np.ones(100, np.float32)
    found = measure.measure(
        ow.fuse(lambda x: x * 2 + 1), [x], measure.Testbed("host", lambda v: v, lambda: None)
    )

    assert found.failures == ("a result lies outside its bound",)
    assert found.error == float("inf")
    assert (found.kernels_unfused, found.kernels, found.same_bits) == (2, 1, True)
