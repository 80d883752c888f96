// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two goroutines count in one variable without a lock.
package main

import "fmt"

func main() {
	counter := 0
	done := make(chan bool)
	for i := 0; i < 2; i++ {
		go func() {
			for j := 0; j < 100; j++ {
				counter++
			}
			done <- true
		}()
	}
	<-done
	<-done
	fmt.Println("end", counter > 0)
}
