/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors that clients send along. Nobody needs to, and anything may be behind them: even
 * closing the last copy of one may take as long as its maker likes.
 */
#ifndef ADV_DAEMON_GIVEN_H
#define ADV_DAEMON_GIVEN_H

/* Nobody can send any to this socket, nor to those accepted from it, where the kernel can see to
 * that (Linux 6.16): who tries gets EPERM. */
void adv_given_refuse(int sock);

#endif
