"""Files of the sources become the known arrays: files are made from the arrays, and arrays again from the files."""

import itertools

import h5py
import numpy as np
import pytest
from nltk.stem.porter import PorterStemmer
from PIL import Image
from scipy import sparse
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from gnomon.datasets import _convert, _download
from gnomon.datasets._convert import CONVERTERS
from gnomon.datasets._local import read_csr
from gnomon.datasets._sources import FILES
from workspaces import subset_files

GCM = "Bladder Breast CNS Colorectal Leukemia Lung Lymphoma Melanoma Mesothelioma Ovary Pancreas Prostate Renal Uterus"
PORTER = PorterStemmer().stem


def of_faces(held, file):
    savemat(file(), {"fea": held["X"].astype(float), "gnd": held["y"][:, None] + 1.0})


def of_stories(held, file):
    about = np.column_stack([held["y"] + 1.0, held["date"]])
    savemat(file(), {"fea": sparse.hstack([read_csr(held), sparse.csr_matrix(about)], format="csc")})


def of_crabs(held, file):
    lines = [
        f"{i},{'BO'[y // 2]},{'FM'[y % 2]},1,{','.join(map(str, x))}" for i, (x, y) in enumerate(zip(*held.values()))
    ]
    file().write_text("\n".join(["rownames,sp,sex,index,FL,RW,CL,CW,BD", *lines]))


def of_corn(held, file):
    waves = ",".join(map(str, held["wavelength"]))
    tables = [(waves, held[f"X_{name}"]) for name in ("m5", "mp5", "mp6")]
    for head, table in [*tables, (",".join(held["target_names"]), held["Y"])]:
        file().write_text("\n".join([head, *(",".join(map(repr, row)) for row in table.tolist())]))


def arff(held, file, names):
    rows = np.hstack([held["X"].astype(float), held["Y"]]).tolist()
    lines = ["% a remark", "@RELATION 'r'", "", *(f"@ATTRIBUTE {name} numeric" for name in names), "", "@DATA"]
    file().write_text("\n".join([*lines, *(",".join(map(repr, row)) for row in rows)]))


def of_yeast(held, file):
    arff(held, file, range(117))


def of_water(held, file):
    arff(held, file, [*held["feature_names"], *held["target_names"]])


def of_reviews(held, file):
    X = read_csr(held)
    for domain in range(4):
        for labeled in (True, False):
            rows = np.flatnonzero((held["domain"] == domain) & (held["labelled"] == labeled))
            dump_svmlight_file(X[rows], 2.0 * held["y"][rows] - 1.0, str(file()), zero_based=True)


def of_lights(held, file):
    folder = file()
    names = [f"A{side}{az:03d}E{el:+03d}" for side, az, el in angles()]
    for i, image in enumerate(held["X"]):
        path = folder / f"yaleB0{i // 64 + 1}" / f"yaleB0{i // 64 + 1}_P00{sorted(names)[i % 64]}.pgm"
        picture(image.reshape(192, 168), path)
    picture(image.reshape(192, 168), path.with_name("yaleB05_P00_Ambient.pgm"))
    picture(image.reshape(192, 168), folder / "yaleB06" / path.name)


def angles():
    """Some 64 lights on either side, as many as of a person."""
    return itertools.product("+-", (0, 5, 35, 110), (20, 0, -5, -20, 45, 65, -35, 90))


def picture(pixels, path):
    """A picture without loss, whatever its name says: readers look at the content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, "PPM" if path.suffix == ".pgm" else "PNG")


def of_poses(held, file):
    folder, order = file(), np.argsort(held["y"], kind="stable")
    numbers = np.concatenate([1 + np.arange(n) for n in np.bincount(held["y"])])
    for i, number in zip(order, numbers, strict=True):
        picture(held["X"][i].reshape(32, 32).T, folder / str(held["y"][i] + 1) / f"{number}.jpg")


def of_digits(held, file):
    with h5py.File(file(), "w") as stream:
        for name, rows in (("train", slice(7291)), ("test", slice(7291, None))):
            stream[f"{name}/data"], stream[f"{name}/target"] = held["X"][rows], held["y"][rows].astype(int)


def gene_lines(X, names):
    return "\n".join([",".join(names), *(",".join(map(repr, gene)) for gene in X.T.tolist())]) + "\n"


def of_genes(held, file):
    classes = GCM.split() if len(held["X"]) == 190 else ["ADEN", "COID", "NORMAL", "SCLC", "SQUA"]
    names = [classes[y] for y in held["y"]]
    if "CNS" in names:
        names[names.index("CNS")] = "dCNS"
    ends = (0, 96, 143, 190) if len(names) == 190 else (0, 51, 102)
    for begin, end in itertools.pairwise(ends):
        file().write_text(gene_lines(held["X"][begin:end], names[begin:end]))


def of_tumors(held, file):
    names = {number: name for name, number in _convert.TUMORS.items()}
    for begin, end in itertools.pairwise((0, 80, 120, 160)):
        file().write_text(gene_lines(held["X"][begin:end], [names[y] for y in held["y"][begin:end]]))
    rows = np.column_stack([held["X"], held["y"]])[[3, 160, 161, 162, 5, 163, 164, 165]]  # two that are known already
    file().write_text("\n".join(",".join(map(str, row)) for row in rows.tolist()))


def of_nine_tumors(held, file):
    savemat(file(), {"data": held["X"].astype(float), "label": held["y"][:, None] + 1.0})


def of_messages(held, file):
    """Each stem by a word that has it, among stop words, short and rare ones; a message without a frequent stem."""
    folder, X = file(), read_csr(held).astype(int)
    words = np.array([word_of(stem) for stem in held["vocabulary"].item().decode().split("\n")])
    for i, (y, number) in enumerate(zip(held["y"], held["article_id"], strict=True)):
        inside = slice(*X.indptr[i : i + 2])
        text = " ".join(np.repeat(words[X.indices[inside]], X.data[inside])).upper()
        message(folder / held["target_names"][y] / str(number), f"The ox: {text} 1993 d\xe9j\xe0 o'er")
    message(folder / "sci.med" / "1", "quixotry quixotry quixotry quixotry would")


def message(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(f"Newsgroups: alt.header\nLines: 1\n\n{body}\n\n--\n".encode("latin-1"))


def word_of(stem):
    """A word of which this is the stem."""
    ends = ["", "e", "s", "ed", "ing", "ly", "es", f"{stem[-1]}ing", "ion", "ment", "er", "ation"]
    words = [*(stem + end for end in ends), f"{stem[:-1]}y"]
    return next(word for word in words if word not in ENGLISH_STOP_WORDS and PORTER(word) == stem)


def of_subsets(held, file):
    subset_files(held, file, 3000)


SLOW = {"rcv1_subsets": pytest.mark.slow}


@pytest.mark.realdata
@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in FILES])
def test_files_of_the_source_become_the_known_arrays(name, data_dir, tmp_path):
    with np.load(data_dir / f"{name}.npz") as arrays:
        held = {key: arrays[key] for key in arrays.files}
    files = []

    def file():
        files.append(tmp_path / f"{len(files)}.mat")
        return files[-1]

    globals()[f"of_{FILES[name].converter}"](held, file)
    assert len(files) == len(FILES[name].files)
    _download.check(name, CONVERTERS[FILES[name].converter](files), FILES[name], "")


def test_lights_are_ordered_by_name_and_flattened_by_rows(tmp_path):
    names = ["A+000E+00", "A+000E-20", "A-005E+10", "_Ambient"]
    for i, name in itertools.product(range(1, 7), names[::-1]):
        pixels = np.full((3, 2), 10 * i + names.index(name), dtype=np.uint8)
        pixels[0, 1] = 255
        picture(pixels, tmp_path / f"yaleB0{i}" / f"yaleB0{i}_P00{name}.pgm")
    found = _convert.lights([tmp_path])
    assert found["y"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert found["X"][:4].tolist() == [[k, 255, k, k, k, k] for k in (10, 11, 12, 20)]


def test_poses_are_ordered_by_number_and_flattened_by_columns(tmp_path):
    for i, number in itertools.product(range(1, 69), (10, 9)):
        picture(np.array([[i, 0], [number, 1]], dtype=np.uint8), tmp_path / str(i) / f"{number}.jpg")
    found = _convert.poses([tmp_path])
    assert found["X"][[0, 1, -1]].tolist() == [[1, 9, 0, 1], [1, 10, 0, 1], [68, 10, 0, 1]]
    assert found["y"].tolist() == np.arange(68).repeat(2).tolist()


def test_digits_are_those_of_training_then_those_of_the_test(tmp_path):
    with h5py.File(tmp_path / "0", "w") as stream:
        for part, value in (("test", 0.25), ("train", 0.5)):
            stream[f"{part}/data"], stream[f"{part}/target"] = np.full((1, 2), value), [int(8 * value)]
    found = _convert.digits([tmp_path / "0"])
    assert (found["X"].tolist(), found["y"].tolist()) == ([[0.5, 0.5], [0.25, 0.25]], [4, 2])
    assert (found["X"].dtype, found["y"].dtype) == (np.float32, np.int16)


def test_tables_of_genes_are_turned_and_their_classes_numbered(tmp_path):
    files = [tmp_path / name for name in "abc"]
    files[0].write_text("OV,LU_S\n1,2\n-3,4\n5,6\n")
    files[1].write_text("BR\n7\n8\n9\n")
    files[2].write_text("1,1,1,0\n2,2,2,8\n3,3,3,1\n")
    found = _convert.tumors(files)
    assert found["X"].tolist() == [[1, -3, 5], [2, 4, 6], [7, 8, 9], [2, 2, 2], [3, 3, 3]]
    assert (found["y"].tolist(), found["X"].dtype) == ([0, 10, 2, 8, 1], np.int32)
    files[1].write_text("dCNS,Colorectal,CNS\r\n1.5,3592.7,0.0\r\n2,2,2\r\n7,7,7\r\n")
    found = _convert.genes(files[1::-1])
    assert found["y"].tolist() == [0, 1, 0, 3, 2]
    assert found["X"][:2].tolist() == [[1.5, 2, 7], [3592.7, 2, 7]]


NINE = {"X": np.arange(60 * 5726).reshape(60, 5726) % 9999 - 50, "y": np.arange(60) % 9}
FORMS = {
    "class first": lambda X, y: {"tumors": np.column_stack([y, X])},
    "class last, one a column": lambda X, y: {"tumors": np.column_stack([X, y + 1]).T.astype(float)},
    "apart, one a column": lambda X, y: {"y": y + 1, "X": X.T},
    "apart": lambda X, y: {"X": X.astype(float), "y": y[:, None] + 1.0},
}


@pytest.mark.parametrize("form", FORMS)
def test_nine_tumors_are_read_in_whatever_form(form, tmp_path):
    savemat(tmp_path / "0.mat", FORMS[form](**NINE))
    found = _convert.nine_tumors([tmp_path / "0.mat"])
    assert _download.digest_of(found) == _download.digest_of({k: v.astype(np.int16) for k, v in NINE.items()})


@pytest.mark.parametrize("X", [NINE["X"][:, 1:], np.column_stack([NINE["y"], NINE["X"][:, 1:]])])
def test_nine_tumors_of_another_form_are_refused(X, tmp_path):
    savemat(tmp_path / "0.mat", {"X": X, "y": NINE["y"]})
    with pytest.raises(ValueError, match=r"shape \(60, 572.\), wanted 60 x 5726 and a column of 9 classes"):
        _convert.nine_tumors([tmp_path / "0.mat"])
