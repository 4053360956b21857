/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the fast path (fast.h) share. */
#ifndef ADV_NIC_FAST_PACKET_H
#define ADV_NIC_FAST_PACKET_H

#include "nic/fast/fast.h"
#include "base/bytes.h"

/* For the parts of a step: they are separate to be read, and one function to be fast. */
#define INLINED	  static inline __attribute__((always_inline))

#define AETH_LEN  4
#define RETH_LEN  16
#define IMMDT_LEN 4

/* True for the opcodes of the fast path: WRITE and SEND, with and without immediate data. They are
 * the first of enum ibv_wr_opcode. */
static inline bool is_plain(unsigned opcode)
{
	return opcode <= IBV_WR_SEND_WITH_IMM;
}

static inline bool is_send(unsigned opcode)
{
	return opcode >= IBV_WR_SEND;
}

/* The position of a packet in its message. */
enum { MIDDLE = 0, FIRST = 1, LAST = 2, ONLY = FIRST | LAST };

#endif
