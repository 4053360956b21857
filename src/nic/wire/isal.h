/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_NIC_WIRE_ISAL_H
#define ADV_NIC_WIRE_ISAL_H

/*
 * Call it after a function of ISA-L. Clears the upper halves of the vector registers, in which
 * ISA-L leaves values. Otherwise code compiled without AVX, like this code, waits for the
 * instructions that computed these values: for each buffer of 256 bytes or more, more than 100 ns
 * on AMD's Zen 4 and on Intel's processors with AVX-512.
 */
static inline void adv_isal_end(void)
{
#if defined(ADV_HAVE_ISAL) && defined(__x86_64__) && !defined(__AVX__)
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroupper");
#endif
}

#endif
