# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planets around a sun: floating-point work for a bytecode interpreter. Argument: the number of steps."""
import sys

PI = 3.141592653589793
SOLAR_MASS = 4 * PI * PI
DAYS = 365.24

# x, y, z, vx, vy, vz, mass
BODIES = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, SOLAR_MASS],
    [4.84, -1.16, -0.10, 0.00166 * DAYS, 0.00769 * DAYS, -0.000069 * DAYS, 0.00095 * SOLAR_MASS],
    [8.34, 4.12, -0.40, -0.00276 * DAYS, 0.00499 * DAYS, 0.000023 * DAYS, 0.00028 * SOLAR_MASS],
    [12.89, -15.11, -0.22, 0.00296 * DAYS, 0.00237 * DAYS, -0.000029 * DAYS, 0.000043 * SOLAR_MASS],
    [15.37, -25.9, 0.17, 0.00268 * DAYS, 0.00162 * DAYS, -0.000095 * DAYS, 0.000051 * SOLAR_MASS],
]


def energy(bodies):
    total = 0.0
    for i, (x, y, z, vx, vy, vz, m) in enumerate(bodies):
        total += 0.5 * m * (vx * vx + vy * vy + vz * vz)
        for x2, y2, z2, _, _, _, m2 in bodies[i + 1:]:
            total -= m * m2 / ((x - x2) ** 2 + (y - y2) ** 2 + (z - z2) ** 2) ** 0.5
    return total


def advance(bodies, pairs, dt, steps):
    for _ in range(steps):
        for a, b in pairs:
            dx, dy, dz = a[0] - b[0], a[1] - b[1], a[2] - b[2]
            square = dx * dx + dy * dy + dz * dz
            force = dt / (square * square ** 0.5)
            ma, mb = a[6] * force, b[6] * force
            a[3] -= dx * mb
            a[4] -= dy * mb
            a[5] -= dz * mb
            b[3] += dx * ma
            b[4] += dy * ma
            b[5] += dz * ma
        for body in bodies:
            body[0] += dt * body[3]
            body[1] += dt * body[4]
            body[2] += dt * body[5]


def main():
    steps = int(sys.argv[1])
    bodies = [list(body) for body in BODIES]
    pairs = [(bodies[i], bodies[j]) for i in range(len(bodies)) for j in range(i + 1, len(bodies))]
    print(f"{energy(bodies):.9f}")
    advance(bodies, pairs, 0.01, steps)
    print(f"{energy(bodies):.9f}")


main()
