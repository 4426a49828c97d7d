"""Published data sets, as R's package datasets and the sources named beside them have them."""

import numpy as np

PLANT_GROWTH = {
    'ctrl': [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    'trt1': [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    'trt2': [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
}

INSECT_SPRAYS = {
    'A': [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
    'B': [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
    'C': [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
    'D': [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
    'E': [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4],
    'F': [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
}

CHICKWTS = {
    'casein': [368, 390, 379, 260, 404, 318, 352, 359, 216, 222, 283, 332],
    'horsebean': [179, 160, 136, 227, 217, 168, 108, 124, 143, 140],
    'linseed': [309, 229, 181, 141, 260, 203, 148, 169, 213, 257, 244, 271],
    'meatmeal': [325, 257, 303, 315, 380, 153, 263, 242, 206, 344, 258],
    'soybean': [243, 230, 248, 327, 329, 250, 193, 271, 316, 267, 199, 171, 158, 248],
    'sunflower': [423, 340, 392, 339, 341, 226, 320, 295, 334, 322, 297, 318],
}

# Michelson's speed of light (NIST StRD Michelso; R's morley): thousandths of 1000 km/s above 299,000.
MICHELSON = (
    299
    + np.array([
        850, 740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000, 1000, 960, 960,
        960, 940, 960, 940, 880, 800, 850, 880, 900, 840, 830, 790, 810, 880, 880, 830, 800, 790, 760, 800,
        880, 880, 880, 860, 720, 720, 620, 860, 970, 950, 880, 910, 850, 870, 840, 840, 850, 840, 840, 840,
        890, 810, 810, 820, 800, 770, 760, 740, 750, 760, 910, 920, 890, 860, 880, 720, 840, 850, 850, 780,
        890, 840, 780, 810, 760, 810, 790, 810, 820, 850, 870, 870, 810, 740, 810, 940, 950, 800, 810, 870,
    ])
    / 1000
)  # fmt: skip

# NIST StRD Mavro: transmittance of a filter, fifty measurements in order.
MAVRO = [
    2.0018, 2.0017, 2.0018, 2.0019, 2.0018, 2.0017, 2.0015, 2.0014, 2.0015, 2.0015, 2.0017, 2.0018, 2.0018, 2.0019,
    2.0019, 2.0021, 2.0020, 2.0016, 2.0014, 2.0013, 2.0013, 2.0015, 2.0015, 2.0016, 2.0015, 2.0014, 2.0013, 2.0014,
    2.0015, 2.0014, 2.0015, 2.0016, 2.0015, 2.0016, 2.0019, 2.0020, 2.0020, 2.0021, 2.0022, 2.0023, 2.0024, 2.0025,
    2.0027, 2.0026, 2.0026, 2.0026, 2.0027, 2.0026, 2.0025, 2.0024,
]  # fmt: skip


def pi_digits() -> list[int]:
    """NIST StRD PiDigits: the first 5,000 digits of pi, as its file has them."""
    one = 10**5020

    def arctan_of_inverse(x: int) -> int:
        term, total, k = one // x, 0, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term, k = term // (x * x), k + 2
        return total

    # Machin's formula; the last digits are rounded.
    value = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)) // 10**21
    digits = []
    while value:
        value, digit = divmod(value, 10)
        digits.append(digit)
    digits.reverse()
    # Digit 957 is 8, and is 3 in the file on which the certified values rest.
    digits[956] = 3
    return digits
