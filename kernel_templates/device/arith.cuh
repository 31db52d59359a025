// Integer helpers for compile-time shapes.
#pragma once

constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int larger(int a, int b) { return a > b ? a : b; }
