/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A finding as the checked program sends it to `adverb check`: one datagram of a SOCK_SEQPACKET
 * connection. Addresses are relative to the file that was loaded; the receiver finds their
 * functions and lines. Any process of the user can send such a message, so the receiver checks it.
 */
#ifndef ADV_ABI_CHECK_MESSAGE_H
#define ADV_ABI_CHECK_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_CHECK_MAGIC	    0x41434b31u
#define ADV_CHECK_FRAMES    16 /* most frames of a stack */
#define ADV_CHECK_STACKS    3
#define ADV_CHECK_MODULES   24
#define ADV_CHECK_TEXT	    512
#define ADV_CHECK_TITLE	    96
#define ADV_CHECK_PATH	    256
#define ADV_CHECK_NO_MODULE UINT32_MAX

struct adv_check_frame {
	uint64_t address; /* return address: relative to the module, or absolute without one */
	uint32_t module;  /* index, or ADV_CHECK_NO_MODULE */
	uint32_t pad;
};

struct adv_check_message {
	uint32_t magic;
	uint32_t rule; /* enum adv_check_rule */
	int32_t pid;
	int32_t tid;
	uint32_t stacks;
	uint32_t modules;
	char program[32];	      /* name of the process */
	char what[ADV_CHECK_TEXT];    /* the call and its fault */
	char history[ADV_CHECK_TEXT]; /* the object's history, or "" */
	struct {
		char title[ADV_CHECK_TITLE]; /* "" for the stack of the fault itself */
		uint32_t frames;
		uint32_t pad;
		struct adv_check_frame frame[ADV_CHECK_FRAMES];
	} stack[ADV_CHECK_STACKS];
	char module[ADV_CHECK_MODULES][ADV_CHECK_PATH]; /* paths of loaded files */
};

/* True if `length` received bytes are a message whose counts, indices and texts are valid. */
bool adv_check_message_valid(const struct adv_check_message *m, size_t length);

#endif
