"""Reading tables (text, Excel, Parquet, Feather, npz, Matrix Market, AnnData), and writing columns.

Every problem with a table is one `TableError` whose message is a single line that names the file and, where
it can, the column and the row. Text is read with the standard library alone, so a file means the same
whatever else is installed; Parquet and Feather go through pyarrow, Excel through openpyxl.
"""

from gnomon.tables._answers import answer_of, answers_of, indicators, names_of_answers, said_of_unseen
from gnomon.tables._cells import Cells, read_cells
from gnomon.tables._h5ad import as_rows, is_h5ad, open_h5ad, write_h5ad
from gnomon.tables._labels import with_labels
from gnomon.tables._large import LargeTable, counted, in_memory, is_large, memory, read_large
from gnomon.tables._marks import is_no_class, numbers_for_nothing, stands_for_nothing
from gnomon.tables._parquet import has_pyarrow, is_parquet
from gnomon.tables._read import marks_for, read_table, sha256_of, table_parts
from gnomon.tables._table import (
    Table,
    TableError,
    as_option,
    close_names,
    count_missing,
    drop_hint,
    listing,
    number,
)
from gnomon.tables._write import check_output, write_parts, write_table

__all__ = [
    "Cells",
    "LargeTable",
    "Table",
    "TableError",
    "answer_of",
    "answers_of",
    "as_option",
    "as_rows",
    "check_output",
    "close_names",
    "count_missing",
    "counted",
    "drop_hint",
    "has_pyarrow",
    "in_memory",
    "indicators",
    "is_h5ad",
    "is_large",
    "is_no_class",
    "is_parquet",
    "listing",
    "marks_for",
    "memory",
    "names_of_answers",
    "number",
    "numbers_for_nothing",
    "open_h5ad",
    "read_cells",
    "read_large",
    "read_table",
    "said_of_unseen",
    "sha256_of",
    "stands_for_nothing",
    "table_parts",
    "with_labels",
    "write_h5ad",
    "write_parts",
    "write_table",
]
