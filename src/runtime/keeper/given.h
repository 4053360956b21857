/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors that clients send. No request needs a descriptor. A descriptor may refer to any file:
 * closing its last copy may take as long as the sender chooses.
 */
#ifndef ADV_RUNTIME_KEEPER_GIVEN_H
#define ADV_RUNTIME_KEEPER_GIVEN_H

/* Refuses descriptors at this socket and at sockets accepted from it, if the kernel supports that
 * (Linux 6.16): the sender gets EPERM. */
void adv_given_refuse(int sock);

#endif
