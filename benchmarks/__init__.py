"""Measurements that take minutes: quality on real data, speed side by side. Never run by the tests."""
