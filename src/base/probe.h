/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Static probes (USDT) of the provider "adverb", for perf, bpftrace and gdb. Each probe is a no-op
 * instruction and a note in the file. docs/profiling.md lists the probes. Their arguments are
 * integers that the code computes in any case. Without <sys/sdt.h> there are no probes.
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
