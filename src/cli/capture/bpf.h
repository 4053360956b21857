/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Filters of packets: expressions of pcap-filter(7). A module (cli/command/module.h): libpcap
 * compiles and applies them. */
#ifndef ADV_CLI_CAPTURE_BPF_H
#define ADV_CLI_CAPTURE_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_BPF_MODULE "adverb-pcap.so"
#define ADV_BPF_SYMBOL "adv_bpf"

struct adv_bpf_program;

struct adv_bpf {
	/* Compiles an expression for Ethernet frames. NULL with a line in why[]. */
	struct adv_bpf_program *(*compile)(const char *text, char *why, size_t why_len);
	void (*destroy)(struct adv_bpf_program *p);
	/* True if the program accepts a frame of len bytes, of which `captured` are known. */
	bool (*accepts)(const struct adv_bpf_program *p, const uint8_t *frame, size_t len,
			size_t captured);
};

extern const struct adv_bpf adv_bpf;

#endif
