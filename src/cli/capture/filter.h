/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The filter of `adverb capture`: an expression of pcap-filter(7) with words for the BTH:
 * "opcode NAME", "qp N" (the destination) and "psn N". A pure function.
 */
#ifndef ADV_CLI_CAPTURE_FILTER_H
#define ADV_CLI_CAPTURE_FILTER_H

#include <stdbool.h>

#define ADV_FILTER_TEXT 4096 /* bytes of an expression, with its end */
#define ADV_FILTER_WHY	400

/*
 * Writes the expression of pcap-filter(7) that `text` stands for. An opcode is a number, a name of
 * adverb frame ("RC_SEND_ONLY"), or the end of names after their service: "SEND_ONLY" is that of
 * all services. False: an unknown opcode or a wrong number, with a line in why[].
 */
bool adv_filter_expand(const char *text, char out[ADV_FILTER_TEXT], char why[ADV_FILTER_WHY]);

#endif
