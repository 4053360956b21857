/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of the values of <infiniband/verbs.h>, for messages. All strings are constant. */
#ifndef ADV_NIC_ENGINE_NAMES_H
#define ADV_NIC_ENGINE_NAMES_H

#include <stddef.h>

#include <infiniband/verbs.h>

#define ADV_ATTR_NAMES_LENGTH 448 /* bytes that the names of all attributes need */

/* Returns the state without its prefix ("RTS"), or "unknown". */
const char *adv_qp_state_name(enum ibv_qp_state state);
/* Returns the type without its prefix ("RC"), or "unknown". */
const char *adv_qp_type_name(enum ibv_qp_type type);
/* Returns the opcode with its prefix ("IBV_WR_SEND"), or "unknown". */
const char *adv_wr_opcode_name(int opcode);
/* Returns the status with its prefix ("IBV_WC_SUCCESS"), or "unknown". */
const char *adv_wc_status_name(enum ibv_wc_status status);
/* Writes the names of the bits of an attribute mask, "IBV_QP_AV | IBV_QP_PATH_MTU". text has `size`
 * bytes; a longer list is cut. Returns text. */
const char *adv_qp_attr_names(int mask, char *text, size_t size);

#endif
