/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/bpf.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_FRAME 262144 /* bytes */

struct adv_bpf_program {
	struct bpf_program program;
};

static struct adv_bpf_program *compile_filter(const char *text, char *why, size_t why_len)
{
	struct adv_bpf_program *p = calloc(1, sizeof(*p));
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, LONGEST_FRAME);
	bool good = p && dead;

	if (!good)
		snprintf(why, why_len, "%s", strerror(ENOMEM));
	else if (pcap_compile(dead, &p->program, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		snprintf(why, why_len, "%s", pcap_geterr(dead));
		good = false;
	}
	if (dead)
		pcap_close(dead);
	if (good)
		return p;
	free(p);
	return NULL;
}

static void destroy_program(struct adv_bpf_program *p)
{
	pcap_freecode(&p->program);
	free(p);
}

static bool accepts_frame(const struct adv_bpf_program *p, const uint8_t *frame, size_t len,
			  size_t captured)
{
	const struct pcap_pkthdr head = {.caplen = (bpf_u_int32)captured, .len = (bpf_u_int32)len};

	return pcap_offline_filter(&p->program, &head, frame) != 0;
}

__attribute__((visibility("default")))
const struct adv_bpf adv_bpf = {compile_filter, destroy_program, accepts_frame};
