"""The graph fuzzer: random programs, judged by several oracles, shrunk and written as tests."""
