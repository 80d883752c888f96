# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SQLite's amalgamation: a real C file of 250,000 lines."""
import npm_source


def path():
    return npm_source.path("better-sqlite3@12.11.1", "deps", "sqlite3", "sqlite3.c")
