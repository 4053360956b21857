/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Static probes (USDT) of the provider "adverb": each a no-operation and a note in the file,
 * which perf, bpftrace and gdb find. docs/profiling.md lists them. Arguments are integers that
 * are at hand anyway. Without <sys/sdt.h> there are none.
 */
#ifndef ADV_BASE_PROBE_H
#define ADV_BASE_PROBE_H

#ifdef ADV_HAVE_SDT
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define ADV_PROBE(name, ...) STAP_PROBEV(adverb, name, __VA_ARGS__)
#else
#define ADV_PROBE(name, ...) ((void)0)
#endif

#endif
