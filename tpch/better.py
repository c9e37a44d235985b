"""TPC-H 5, 7, 8 and 9 with joins in an order that suits Spark.

Spark joins in the order that a query names its tables, and DuckDB's texts name the selective ones last. Here every table that
a constant cuts down is joined first, so that what is left of it is small, builds, and reaches lineitem as a filter.
"""

from __future__ import annotations

BETTER_5 = """
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
JOIN (
  SELECT o_orderkey, c_nationkey, n_name
  FROM orders
  JOIN (
    SELECT c_custkey, c_nationkey, n_name
    FROM customer
    JOIN (SELECT n_nationkey, n_name FROM nation JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'ASIA') asia
      ON c_nationkey = n_nationkey
  ) asians ON o_custkey = c_custkey
  WHERE o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
) bought ON l_orderkey = o_orderkey
JOIN supplier ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey
GROUP BY n_name
ORDER BY revenue DESC"""

BETTER_7 = """
SELECT supp_nation, cust_nation, year(l_shipdate) AS l_year, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
JOIN (
  SELECT s_suppkey, n_name AS supp_nation
  FROM supplier JOIN nation ON s_nationkey = n_nationkey
  WHERE n_name IN ('FRANCE', 'GERMANY')
) sellers ON l_suppkey = s_suppkey
JOIN (
  SELECT o_orderkey, cust_nation
  FROM orders
  JOIN (
    SELECT c_custkey, n_name AS cust_nation
    FROM customer JOIN nation ON c_nationkey = n_nationkey
    WHERE n_name IN ('FRANCE', 'GERMANY')
  ) buyers ON o_custkey = c_custkey
) bought ON l_orderkey = o_orderkey
WHERE l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' AND supp_nation <> cust_nation
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year"""

BETTER_8 = """
SELECT o_year, sum(CASE WHEN seller = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
FROM (
  SELECT year(o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n_name AS seller
  FROM lineitem
  JOIN (SELECT p_partkey FROM part WHERE p_type = 'ECONOMY ANODIZED STEEL') steel ON l_partkey = p_partkey
  JOIN (
    SELECT o_orderkey, o_orderdate
    FROM orders
    JOIN (
      SELECT c_custkey
      FROM customer
      JOIN (SELECT n_nationkey FROM nation JOIN region ON n_regionkey = r_regionkey WHERE r_name = 'AMERICA') america
        ON c_nationkey = n_nationkey
    ) americans ON o_custkey = c_custkey
    WHERE o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
  ) bought ON l_orderkey = o_orderkey
  JOIN (SELECT s_suppkey, n_name FROM supplier JOIN nation ON s_nationkey = n_nationkey) sellers ON l_suppkey = s_suppkey
) sales
GROUP BY o_year
ORDER BY o_year"""

BETTER_9 = """
SELECT nation, o_year, sum(amount) AS sum_profit
FROM (
  SELECT n_name AS nation, year(o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
  FROM lineitem
  JOIN (
    SELECT ps_partkey, ps_suppkey, ps_supplycost, n_name
    FROM partsupp
    JOIN (SELECT p_partkey FROM part WHERE p_name LIKE '%green%') green ON ps_partkey = p_partkey
    JOIN (SELECT s_suppkey, n_name FROM supplier JOIN nation ON s_nationkey = n_nationkey) sellers ON ps_suppkey = s_suppkey
  ) offered ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
  JOIN orders ON l_orderkey = o_orderkey
) profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC"""

BETTER = {5: BETTER_5, 7: BETTER_7, 8: BETTER_8, 9: BETTER_9}
"""By the number of the query whose rows each of them gives."""
