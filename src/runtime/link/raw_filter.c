/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The classic BPF program of a packet socket. It accepts RoCE v1 frames that are addressed to this
 * machine, and whose destination QP number is in one of the link's ranges or that of multicast. So
 * the kernel copies no other frame to the process.
 */
#include "runtime/link/raw_internal.h"

#include <errno.h>
#include <linux/filter.h>

#include "base/sys.h"

#define ETHERTYPE_AT   12
#define NEXT_HEADER_AT (RAW_ETHERNET_LEN + 6)
#define DEST_QPN_AT    (RAW_ETHERNET_LEN + ADV_GRH_LEN + 4)
#define NEXT_HEADER    27	/* IBTA 8.3 */
#define WHOLE	       0x40000u /* the result of a program: this many bytes of the frame */
#define LENGTH_MAX     (16 + 4 * ADV_UDP_RANGES)

struct program {
	struct sock_filter code[LENGTH_MAX];
	unsigned short len;
};

static void add_instruction(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->code[p->len++] = (struct sock_filter){code, yes, no, k};
}

/* Goes on if the condition holds (`code` with k), otherwise drops the frame. */
static void require_condition(struct program *p, uint16_t code, uint32_t k)
{
	add_instruction(p, BPF_JMP | code | BPF_K, k, 1, 0);
	add_instruction(p, BPF_RET | BPF_K, 0, 0, 0);
}

static void load_field(struct program *p, uint16_t size, uint32_t at)
{
	add_instruction(p, BPF_LD | size | BPF_ABS, at, 0, 0);
}

int adv_raw_filter_attach(const struct raw_link *l)
{
	struct program p = {.len = 0};
	struct sock_fprog f = {.filter = p.code};

	/* PACKET_HOST, _BROADCAST and _MULTICAST are the lowest types. */
	load_field(&p, BPF_W, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE));
	add_instruction(&p, BPF_JMP | BPF_JGT | BPF_K, PACKET_MULTICAST, 0, 1);
	add_instruction(&p, BPF_RET | BPF_K, 0, 0, 0);
	load_field(&p, BPF_H, ETHERTYPE_AT);
	require_condition(&p, BPF_JEQ, ADV_ETHERTYPE_ROCE);
	load_field(&p, BPF_B, NEXT_HEADER_AT);
	require_condition(&p, BPF_JEQ, NEXT_HEADER);
	load_field(&p, BPF_W, DEST_QPN_AT);
	add_instruction(&p, BPF_ALU | BPF_AND | BPF_K, ADV_QPN_MASK, 0, 0);
	add_instruction(&p, BPF_MISC | BPF_TAX, 0, 0, 0);
	for (unsigned i = 0; i < l->range_count; i++) {
		add_instruction(&p, BPF_MISC | BPF_TXA, 0, 0, 0);
		add_instruction(&p, BPF_ALU | BPF_SUB | BPF_K, l->range[i].first, 0, 0);
		add_instruction(&p, BPF_JMP | BPF_JGE | BPF_K, l->range[i].count, 1, 0);
		add_instruction(&p, BPF_RET | BPF_K, WHOLE, 0, 0);
	}
	add_instruction(&p, BPF_MISC | BPF_TXA, 0, 0, 0);
	require_condition(&p, BPF_JEQ, ADV_QPN_MULTICAST);
	add_instruction(&p, BPF_RET | BPF_K, WHOLE, 0, 0);
	f.len = p.len;
	return adv_sys_setsockopt(l->fd, SOL_SOCKET, SO_ATTACH_FILTER, &f, sizeof(f)) < 0 ? errno
											  : 0;
}
