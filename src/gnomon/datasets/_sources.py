"""The known data files: name without its ending, digest of the bytes, origin and content.

None of them is shipped. The origin names the public repository, its commit and the license that it states;
for most data sets it states none, so treat them as for tests and benchmarks on your own machine. They are downloaded
where they are not at hand.
"""

from typing import NamedTuple


class SourceFile(NamedTuple):
    """One known data file."""

    sha256: str
    provenance: str
    description: str
    content: str  # digest of its arrays, see `_download.digest_of`
    converter: str  # one of `_convert.CONVERTERS`
    files: tuple[str, ...]  # owner/repository/commit/path of what it is made from; a folder ends in a slash
    needs: tuple[str, ...] = ()  # packages, beside pooch, by which it is made


_FACES = "ishaqima/LSDP/b2f45a964962fc90fb5f9eaf3852b421af490234/code/\u6570\u636e\u96c6/"
_MULAN = "tsoumakas/mulan/43f6389095ad71984264db4387a8074b22bc7d4a/data/"
_CORN = "bitjungle/gopca/2daf43d0d970e6daa38538a1858a615d701c59af/testdata/corn/"
_REVIEWS = "GRAAL-Research/domain_adversarial_neural_network/74eec5e0ae06bd6614bce048abba492c16a633e3/data/"
_ECOC = "MLDMXM2017/MOGA-ECOC/fe1324e919a8c2ed9547558d68324c4045e74bdc/data_uci/"
_RCV1 = "fcharte/mldr.datasets/5ef92bcd6548502ba927ae4b52afff2eb9b5cebd/additional-data/"
_DOMAINS = ("books", "dvd", "electronics", "kitchen")

FILES = {
    "yale_32x32": SourceFile(
        "9e9ae2445b3f2194438ab4fddc0457aac32164cf239db1db0b96f89f9e1a814b",
        "github.com/ishaqima/LSDP, Yale_32x32.mat, commit b2f45a964962 (no license stated)",
        "Yale faces, 32 x 32 pixels: 11 images of each of 15 people. Images are flattened column by column. "
        "Cite Belhumeur, Hespanha and Kriegman 1997.",
        "28729b0e7952cbda109f6fbe4f52dfa6294d4e5d2498086d3d09831e12c3d0ae",
        "faces",
        (f"{_FACES}Yale_32x32.mat",),
    ),
    "yale_64x64": SourceFile(
        "3cbdd5b480234951ff839679d9f82d34c540590eb5073abd6f2aa407ec656573",
        "github.com/ishaqima/LSDP, Yale_64x64.mat, commit b2f45a964962 (no license stated)",
        "Yale faces, 64 x 64 pixels: 11 images of each of 15 people, another crop than the 32 x 32 file. "
        "Images are flattened column by column. Cite Belhumeur, Hespanha and Kriegman 1997.",
        "486c9ebaa0b1fbe7a2096a7271292645841207a27efe7a1e86726c8badb775b6",
        "faces",
        (f"{_FACES}Yale_64x64.mat",),
    ),
    "orl_32x32": SourceFile(
        "8dd715dcf659f172b9bf16710c1b71de68d5252bf776914d617f0e5acc80fc2c",
        "github.com/ishaqima/LSDP, ORL_32x32.mat, commit b2f45a964962 (no license stated)",
        "ORL (AT&T) faces, 32 x 32 pixels: 10 images of each of 40 people. Images are flattened column by column. "
        "Cite Samaria and Harter 1994.",
        "807cbd737b33dcb981c67b0b572cc0c79712ea2de5f9dd8962f932a50f53e593",
        "faces",
        (f"{_FACES}ORL_32x32.mat",),
    ),
    "orl_64x64": SourceFile(
        "c6c47a01eb95ea9d437e9d2ea610c087ed70a8e908992c5fdd687e176c1fc923",
        "github.com/ishaqima/LSDP, ORL_64x64.mat, commit b2f45a964962 (no license stated)",
        "ORL (AT&T) faces, 64 x 64 pixels: 10 images of each of 40 people. Images are flattened column by column. "
        "Cite Samaria and Harter 1994.",
        "d89af5ceab1199dc9b2a7c6f6c41457e720a89f6aca0b1ce902eb48080acda3a",
        "faces",
        (f"{_FACES}ORL_64x64.mat",),
    ),
    "yaleb_32x32": SourceFile(
        "362ee277e5b8eb7b8b0cd6ecb4bb48aec218472d4446b560d8ccf3612df31c86",
        "github.com/ishaqima/LSDP, YaleB_32x32.mat, commit b2f45a964962 (no license stated)",
        "Extended Yale B, near-frontal faces, 32 x 32 pixels: 2,414 images of 38 people, 59 to 64 each. "
        "Images are flattened column by column. "
        "Cite Georghiades, Belhumeur and Kriegman 2001 and Lee, Ho and Kriegman 2005.",
        "a4fbe30dad9faa17ea7e60cdf747cd4189068b0cc51d028a8acc180a132dad80",
        "faces",
        (f"{_FACES}YaleB_32x32.mat",),
    ),
    "yaleb5_192x168": SourceFile(
        "baf1923e2cd3c42ec06b6ee9b12fac86f97fb1d79ecb6a9ce44de0d755b356b6",
        "github.com/Uranium2/recognition, CroppedYale/yaleB01-05, commit 55008b5f2ab7 (no license stated)",
        "Extended Yale B, cropped, 192 x 168 pixels: the first 5 people under 64 lights each. Images are "
        "flattened row by row. Cite Georghiades, Belhumeur and Kriegman 2001 and Lee, Ho and Kriegman 2005.",
        "9598a0f57e804d812c8832d70ccc3ce5de2379b4f3ae71b2bd33e71a333d63e2",
        "lights",
        ("Uranium2/recognition/55008b5f2ab707eb7ae4464daa727d30b858d488/CroppedYale/",),
        ("PIL",),
    ),
    "pie_32x32_jpeg": SourceFile(
        "478dcbc0d019a32234791eb2b0162e96527459c3ddeec4bd4adc8192bae0b2df",
        "github.com/Zavier-Ong/EE5907-Pattern-Recognition-P2, PIE, commit 06b85b2b480b (no license stated)",
        "CMU PIE, five near-frontal poses, 32 x 32 pixels: 11,554 images of 68 people; the pixels went "
        "through JPEG. Images are flattened column by column. Cite Sim, Baker and Bsat 2003.",
        "1c4024f210c0b68113e7c4f9f90c044f0d115bff2159dceb08fe7a49071546b8",
        "poses",
        ("Zavier-Ong/EE5907-Pattern-Recognition-P2/06b85b2b480b2d14eca3d26bf60666063be9d764/PIE/",),
        ("PIL",),
    ),
    "pie_32x32_first10": SourceFile(
        "ec28f5ff300882a6cb6bf934858cc14f89e4b73a082ff0b4a497814e3fb4afc2",
        "github.com/zhadier/Image-Classification-using-KNN-classifier, PIE_32x32.mat, commit 84be8821adff "
        "(no license stated)",
        "CMU PIE, 32 x 32 pixels, exact: 170 images of each of the first 10 people. Images are flattened "
        "column by column. Cite Sim, Baker and Bsat 2003.",
        "c9b196abb7115b6c6aa5d35e4fba4c328623744f789fc44cbe8b3f76c36c2b61",
        "faces",
        ("zhadier/Image-Classification-using-KNN-classifier/84be8821adffd1d77332614d2182449c623b7c74/PIE_32x32.mat",),
    ),
    "usps": SourceFile(
        "6f6792fcb95a3cc69cf797edc3824c477c7210728f5025ddea107eaee3e0cffd",
        "github.com/niuers/Learning-From-Data-A-Short-Course, usps.h5, commit 879a698b960e (no license stated)",
        "USPS handwritten digits, 16 x 16 pixels in [0, 1]; rows 0 to 7290 are the official training part. "
        "Cite Hull 1994.",
        "3e8a284b5354482287157174b75dc3f2eb45fbb0d19d71dd373cfd62d28e8b33",
        "digits",
        ("niuers/Learning-From-Data-A-Short-Course/879a698b960e5867f7c2b11f8938fa89c3d21839/data/usps.h5",),
        ("h5py",),
    ),
    "crabs": SourceFile(
        "98dc76bd3c6d309bd98e628a6e38d20e880edea40f667376fd7d0d77e1f9bdcf",
        "github.com/vincentarelbundock/Rdatasets, MASS/crabs.csv, commit 1dcc2bf5f955 (GPL-3)",
        "Leptograpsus crabs: 5 measurements in mm of 200 animals of two colors and two sexes. "
        "Cite Campbell and Mahon 1974.",
        "602973e2323a1e063700ca4a83338bd03823963cdec06135be4e741874aed69b",
        "crabs",
        ("vincentarelbundock/Rdatasets/1dcc2bf5f955cc1224a3e1307256e1fe86b68dae/csv/MASS/crabs.csv",),
    ),
    "11_tumors_166": SourceFile(
        "a24f92901111deb9b9461e81a2e09fc3b882913814c5c40929b3bd49b5ac7e13",
        "github.com/MLDMXM2017/MOGA-ECOC, Cancers_*.data, commit fe1324e919a8, and github.com/jlmorillo/"
        "On-the-use-of-Oversampling-and-Feature-Selection-techniques-for-dealing-with-Microarray-Data, "
        "commit dc7ef293d82d (no license stated)",
        "GEMS 11_Tumors gene expression, 166 of its 174 rows: four bladder and four pancreas samples are missing. "
        "Cite Su et al. 2001 and Statnikov et al. 2005.",
        "40ee3eaa44d4ce5b072a3cabc2cea64972a0f816d60b2df38d9dcf747d4a3758",
        "tumors",
        (
            *(f"{_ECOC}Cancers_{part}.data" for part in ("train", "validation", "test")),
            "jlmorillo/On-the-use-of-Oversampling-and-Feature-Selection-techniques-for-dealing-with-Microarray-Data/"
            "dc7ef293d82d4986c5d0c026cedceb819631e1b8/Codigo/datasets/11_Tumors_Test.csv",
        ),
    ),
    "lung_cancer_102": SourceFile(
        "e7bc3fb3a06562e4e8d0f7f1151b83e0f47ccf3c1bc8eba16093b6711900a6e7",
        "github.com/MLDMXM2017/MOGA-ECOC, Lung2_*.data, commit fe1324e919a8 (no license stated)",
        "GEMS Lung_Cancer gene expression, a stratified half: 102 of its 203 rows. Cite "
        "Bhattacharjee et al. 2001 and Statnikov et al. 2005.",
        "a59158c5d580316c53d4df11304304f5f5888c76a0be89e6e84c3aae4a6401ab",
        "genes",
        tuple(f"{_ECOC}Lung2_{part}.data" for part in ("validation", "test")),
    ),
    "gcm_243genes": SourceFile(
        "e96ee35927c6b37774111f0bd6c5871aac9f34f63169a217d662ed78b59c0a78",
        "github.com/MLDMXM2017/MOGA-ECOC, GCM_*.data, commit fe1324e919a8 (no license stated)",
        "Global cancer map: 190 tumors of 14 types, 243 genes chosen by the source by an unstated rule "
        "that may have used the labels. Cite Ramaswamy et al. 2001.",
        "3860be0fcffd8589655a62ffcca8d1b1b85a9b9939b6e80e1ba86652a55525ba",
        "genes",
        tuple(f"{_ECOC}GCM_{part}.data" for part in ("train", "validation", "test")),
    ),
    "9_tumors": SourceFile(
        "aa8e62d98ebfab4ca8a91828b4c518c117e90f4b80396463cc3fc5ce356734b7",
        "github.com/primekangkang/Genedata, 9_Tumors.mat, commit c78cd4b44d86 (no license stated)",
        "GEMS 9_Tumors gene expression (NCI60): 60 rows, 5,726 genes. Cite Staunton et al. 2001 and Statnikov "
        "et al. 2005.",
        "9ec7822cc8574e87d55f3e22700fbf65a0282ec872dfc04ab556499b9ae24d43",
        "nine_tumors",
        ("primekangkang/Genedata/c78cd4b44d8646ca2fd0c1cd0a2d104f46fa1b44/9_Tumors.mat",),
    ),
    "tdt2": SourceFile(
        "211f030931e6d5ca7268aa9bdbb3deb82a16ff629b587c634ee1959e5aacfa7e",
        "github.com/jiangelle/Mat-data-time, TDT2.mat, commit 1125d509f310 (no license stated; an LDC corpus)",
        "TDT2 news: word counts of 9,394 stories in 30 categories, largest category first, sorted by "
        "category. The 20 largest categories are ``target < 20``. "
        "Cite Cieri, Graff, Liberman, Martey and Strassel 1999.",
        "55c39ba93140575c45d3d6ccaf787c6259b4a76a1013ec418c32cfb86e25206f",
        "stories",
        ("jiangelle/Mat-data-time/1125d509f310a11cdcc690e4d2c669ed453bb568/TDT2.mat",),
    ),
    "news20": SourceFile(
        "12b3d6cda651ee56fbc88f81c724ea631006ee8652788a6a79056f99e4a18da1",
        "github.com/TanyaOdyniuk/SparkInvertedIndex, 20_newsgroup, commit 0da732d6fc76 (no license stated)",
        "20 Newsgroups, the original collection without headers: counts of Porter stems that occur five "
        "times or more, sorted by group. Cite Lang 1995.",
        "e43d540e64b54a3c7a88a02e206d683cd1231712e3e162f9513076e91217fa94",
        "messages",
        ("TanyaOdyniuk/SparkInvertedIndex/0da732d6fc76e82149fff6a6c98709ba8d9087cf/20_newsgroup/",),
        ("nltk",),
    ),
    "amazon4": SourceFile(
        "6683ed95bbcce16f49ee56af2fef74715c3fcdf435728b94225bf654d14e35ad",
        "github.com/GRAAL-Research/domain_adversarial_neural_network, data/*.svmlight, commit 74eec5e0ae06 "
        "(BSD-style license of the code; the reviews are of Blitzer, Dredze and Pereira 2007)",
        "Amazon reviews of four product domains: counts of 5,000 unigrams and bigrams, negative or positive. "
        "Cite Blitzer, Dredze and Pereira 2007.",
        "0d8bfdfd14259c1be26f9bd7b6b70cd709102b31a3307025110736413b51acad",
        "reviews",
        tuple(f"{_REVIEWS}{name}_{part}.svmlight" for name in _DOMAINS for part in ("train", "test")),
    ),
    "rcv1_subsets": SourceFile(
        "15af983533b5f9cba575f8f80ce666e149b7b02de14f381754f2acf2f301332b",
        "github.com/fcharte/mldr.datasets, additional-data/rcv1sub1-5.rda, commit 5ef92bcd6548 "
        "(LGPL-3 for the package)",
        "Reuters RCV1, the union of the five multi-label subsets: log TF-IDF of 27,695 stories, 101 "
        "topics. The names of the topics are inferred. Cite Lewis, Yang, Rose and Li 2004.",
        "9b792fda048b271799fa1ba6f3b59b4ceb65f0bd0cdcd108fac4700cf91695fa",
        "subsets",
        tuple(f"{_RCV1}rcv1sub{k}.rda" for k in range(1, 6)),
    ),
    "yeast": SourceFile(
        "f2a98914faf19e44a511b70649f57f26b27872c12aa4637a787d4d0f5dad8b8b",
        "github.com/tsoumakas/mulan, data/multi-label/yeast, commit 43f6389095ad (GPL for the code)",
        "Yeast genes: 103 features, 14 functional classes, about four of them per gene. "
        "Cite Elisseeff and Weston 2001.",
        "93e9dfe429106b7f04da6cd0f9ad0ba6361aaf5654d9a99a3c137a2d04ef2f1e",
        "yeast",
        (f"{_MULAN}multi-label/yeast/yeast.arff",),
    ),
    "wq": SourceFile(
        "8d59d07bca67e5775ffda030cc4660e8475f29fd019a57ab5466ad18ada1dd00",
        "github.com/tsoumakas/mulan, data/multi-target/wq.arff, commit 43f6389095ad (GPL for the code)",
        "Water quality: 16 physical and chemical readings, abundance grades 0, 1, 3, 5 of 14 species. "
        "Cite Dzeroski, Demsar and Grbovic 2000.",
        "d1b527b1fedd2444bdbc0c3b7ad98bb20455278b5f3b669020fab0c594be0b6d",
        "water",
        (f"{_MULAN}multi-target/wq.arff",),
    ),
    "corn_nir": SourceFile(
        "b60d0e660880098b74a55106e26bdc411e9383b66fb02270948e4fdef97403b8",
        "github.com/bitjungle/gopca, testdata/corn, commit 2daf43d0d970 (license of the data unknown)",
        "Near-infrared spectra of 80 corn samples at 700 wavelengths from three instruments; moisture, "
        "oil, protein and starch as targets. Cite Eigenvector Research, from Cargill.",
        "05f79c95f4522e5b65d48be2817d45fd3fb2f182754b7eb7e4b2a2f9da704b0d",
        "corn",
        tuple(f"{_CORN}corn_{name}.csv" for name in ("m5spec", "mp5spec", "mp6spec", "propvals")),
    ),
}
