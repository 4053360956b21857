/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of targets as people write them. */
#ifndef ADV_STORAGE_KIT_ADDRESS_H
#define ADV_STORAGE_KIT_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

struct adv_kit_address {
	struct sockaddr_storage sa;
	char host[64]; /* numeric */
	char port[8];
};

/* Parses ADDRESS, ADDRESS:PORT, [ADDRESS] or [ADDRESS]:PORT; a bare IPv6 address has no port.
 * `passive`: to listen. False: prints the reason. */
bool adv_kit_address_parse(const char *text, const char *default_port, bool passive,
			   struct adv_kit_address *out);

#endif
