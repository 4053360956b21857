/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For targets whose input is a program: some bytes, then steps of one size. records.c mutates such
 * inputs step by step. Only programs with libFuzzer contain records.c.
 */
#ifndef ADV_FUZZ_RECORDS_H
#define ADV_FUZZ_RECORDS_H

#include <stddef.h>

extern const size_t fuzz_records_from; /* bytes before the first step */
extern const size_t fuzz_record_len;

#endif
