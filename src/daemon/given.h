/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors that clients send. No request needs any. A descriptor may refer to anything: even
 * closing its last copy may take as long as its maker likes.
 */
#ifndef ADV_DAEMON_GIVEN_H
#define ADV_DAEMON_GIVEN_H

/* Refuses descriptors at this socket and at those accepted from it, if the kernel can (Linux 6.16):
 * the sender gets EPERM. */
void adv_given_refuse(int sock);

#endif
