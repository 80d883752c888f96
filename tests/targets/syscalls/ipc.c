// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System V semaphores, messages and shared memory, and POSIX message queues.
#include "report.h"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>

static void semaphores(void) {
  int id = semget(IPC_PRIVATE, 3, 0600);
  MUST(id >= 0);
  unsigned short values[3] = {5, 0, 7}, found[3] = {0};
  fact("SETALL %s", outcome(semctl(id, 0, SETALL, values)));
  struct sembuf ops[2] = {{0, -2, 0}, {1, 4, 0}};
  fact("semop %s", outcome(semop(id, ops, 2)));
  struct sembuf wait = {1, -100, IPC_NOWAIT};
  fact("semop would block %s", outcome(semop(id, &wait, 1)));
  struct timespec soon = {0, 1000000};
  wait.sem_flg = 0;
  fact("semtimedop %s", outcome(semtimedop(id, &wait, 1, &soon)));
  MUST(semctl(id, 0, GETALL, found) == 0);
  fact("values %d %d %d", found[0], found[1], found[2]);
  fact("GETVAL %d GETNCNT %d mine %d", semctl(id, 1, GETVAL), semctl(id, 1, GETNCNT),
       semctl(id, 1, GETPID) == getpid());
  struct semid_ds status;
  MUST(semctl(id, 0, IPC_STAT, &status) == 0);
  fact("count %lu", (unsigned long)status.sem_nsems);
  changing("changed %ld", (long)status.sem_ctime);
  fact("IPC_RMID %s", outcome(semctl(id, 0, IPC_RMID)));
  fact("gone %s", outcome(semctl(id, 0, GETVAL)));
}

static void messages(void) {
  int id = msgget(IPC_PRIVATE, 0600);
  MUST(id >= 0);
  struct {
    long type;
    char text[64];
  } message = {3, "third kind"};
  fact("msgsnd %s", outcome(msgsnd(id, &message, 11, 0)));
  message.type = 1;
  strcpy(message.text, "first kind, longer");
  fact("msgsnd %s", outcome(msgsnd(id, &message, 19, 0)));
  memset(&message, 0, sizeof message);
  fact("too small %s", outcome(msgrcv(id, &message, 5, 1, 0)));
  long got = msgrcv(id, &message, sizeof message.text, 1, 0);
  fact("msgrcv %s type %ld %s", outcome(got), message.type, message.text);
  memset(&message, 0, sizeof message);
  got = msgrcv(id, &message, 4, 0, MSG_NOERROR);
  fact("msgrcv cut %s type %ld %s", outcome(got), message.type, message.text);
  fact("msgrcv of nothing %s", outcome(msgrcv(id, &message, 4, 0, IPC_NOWAIT)));
  struct msqid_ds status;
  MUST(msgctl(id, IPC_STAT, &status) == 0);
  fact("messages left %lu", (unsigned long)status.msg_qnum);
  fact("IPC_RMID %s", outcome(msgctl(id, IPC_RMID, NULL)));
}

static void shared_memory(void) {
  int id = shmget(IPC_PRIVATE, 10000, 0600);
  MUST(id >= 0);
  char* a = shmat(id, NULL, 0);
  MUST(a != (char*)-1);
  strcpy(a + 5000, "still there");
  fact("shmdt inside %s, at the beginning %s", outcome(shmdt(a + 4096)), outcome(shmdt(a)));
  // One that can only be read, at a place of the program's choice.
  char* place = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(place != MAP_FAILED);
  fact("shmat where something is %s", outcome(shmat(id, place, SHM_RDONLY) == (char*)-1 ? -1 : 0));
  fact("shmat between pages %s", outcome(shmat(id, place + 1, SHM_REMAP) == (char*)-1 ? -1 : 0));
  char* b = shmat(id, place + 5000, SHM_RDONLY | SHM_REMAP | SHM_RND);
  fact("shmat in its place %d, %s", b == place + 4096, b + 5000);
  fact("shmctl RMID %s", outcome(shmctl(id, IPC_RMID, NULL)));
  struct shmid_ds status;
  MUST(shmctl(id, IPC_STAT, &status) == 0);
  fact("size %zu attached %lu", status.shm_segsz, (unsigned long)status.shm_nattch);
  // In two parts, which go together.
  fact("mprotect %s", outcome(mprotect(b + 4096, 4096, PROT_NONE)));
  fact("shmdt %s", outcome(shmdt(b)));
  fact("readable %s, gone %s", outcome(msync(b - 4096, 4096, MS_ASYNC)),
       outcome(msync(b, 3 * 4096, MS_ASYNC)));
  fact("shmdt again %s, shmat of nothing %s", outcome(shmdt(b)),
       outcome(shmat(id, NULL, 0) == (char*)-1 ? -1 : 0));
}

static void queues(void) {
  char name[64];
  snprintf(name, sizeof name, "/sys_ipc.%d", getpid());
  struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 32}, found;
  mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attributes);
  if (queue == (mqd_t)-1) {
    fact("no message queues here");
    return;
  }
  fact("mq_unlink %s", outcome(mq_unlink(name)));
  fact("mq_send %s", outcome(mq_send(queue, "low", 4, 1)));
  fact("mq_send %s", outcome(mq_send(queue, "high", 5, 9)));
  MUST(mq_getattr(queue, &found) == 0);
  fact("attributes %ld %ld %ld", found.mq_maxmsg, found.mq_msgsize, found.mq_curmsgs);
  char text[32];
  unsigned priority = 0;
  long got = mq_receive(queue, text, sizeof text, &priority);
  fact("mq_receive %s %s priority %u", outcome(got), text, priority);
  got = mq_receive(queue, text, sizeof text, NULL);
  fact("mq_receive %s %s", outcome(got), text);
  fact("mq_receive of nothing %s", outcome(mq_receive(queue, text, sizeof text, NULL)));
  mq_close(queue);
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  semaphores();
  messages();
  shared_memory();
  queues();
  return 0;
}
