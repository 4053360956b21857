/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A listening TCP socket, from text. */
#ifndef ADV_CLI_EXPORTER_LISTENER_H
#define ADV_CLI_EXPORTER_LISTENER_H

#include <stddef.h>

#define ADV_LISTENER_TEXT 64 /* bytes of an address with its port */

/*
 * Opens a socket that listens on "ADDRESS:PORT", "[ADDRESS]:PORT" (IPv6) or "PORT" (of 127.0.0.1).
 * The address is numeric; port 0: the kernel selects one. Close-on-exec and non-blocking. Returns
 * the descriptor, and in bound[] the address with the port. -1: a line in why[].
 */
int adv_listener_open(const char *text, char bound[ADV_LISTENER_TEXT], char *why, size_t why_len);

#endif
