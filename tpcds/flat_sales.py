"""A wide table as analysts make one: each sale of `store_sales` with its month, store, item's class and promotion's channels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

# What a star-tree of the table may have as dimensions, in the order in which its nodes are split well.
DIMENSIONS = ("month", "store", "i_class", "i_category", "hd_buy_potential", "channel_dmail", "channel_email", "channel_event")
_SQL = """
select d_year * 100 + d_moy as month, ss_store_sk as store, i_category, i_class, hd_buy_potential,
       p_channel_dmail as channel_dmail, p_channel_email as channel_email, p_channel_event as channel_event, sales.*
from {store_sales} sales left join {date_dim} on ss_sold_date_sk = d_date_sk left join {item} on ss_item_sk = i_item_sk
  left join {household_demographics} on ss_hdemo_sk = hd_demo_sk left join {promotion} on ss_promo_sk = p_promo_sk
"""


def write_flat_sales(tables: Mapping[str, Path], folder: Path, file_bytes: int = 128 << 20, pack_rows: int = 122_880) -> Path:
    """Writes the table of TPC-DS tables (files or folders, by name) into a folder that is new.

    Returns:
        The folder, with Parquet files of about `file_bytes`.
    """
    sources = {name: f"read_parquet('{_files_of(path)}')" for name, path in tables.items()}
    with duckdb.connect() as connection:
        connection.execute("set preserve_insertion_order = false; set threads = 2")
        options = f"format parquet, file_size_bytes {file_bytes}, row_group_size {pack_rows}, filename_pattern 'part-{{i}}'"
        connection.execute(f"copy ({_SQL.format(**sources)}) to '{folder}' ({options})")
    return folder


def _files_of(path: Path) -> str:
    return f"{path}/**/*.parquet" if path.is_dir() else str(path)
